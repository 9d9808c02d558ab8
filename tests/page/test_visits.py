"""Who gets in: the link, the cookie and the key of the page, over plain HTTP."""

import asyncio
import os

import httpx2
import pytest

from cli.commands import switchboard
from gate.ground import Gate, call
from page.visiting import KEY, PATIENCE, Visitor, opened, stranger, visitor, waiting_call
from support.daemons import shim
from support.requirements import attack
from support.workspace import Workspace
from switchboard.core.single_use import SingleUse
from switchboard.web import site
from switchboard.web.visits import VISIT_S, Visits
from switchkit.platform import Unknown
from switchkit.platform.ports import connected_user

ELSEWHERE = "http://127.0.0.1:1"


@attack("P1")
async def test_a_link_logs_in_once(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, report):
        assert (await visiting.ask("status")).json()["home"] == str(workspace.home)
        async with stranger(report["url"]) as other:
            answer = await other.login(report["link"])
            assert answer.status_code == 401
            assert "set-cookie" not in answer.headers
            assert (await other.ask("status")).status_code == 401


@attack("P1")
async def test_a_link_counts_for_nobody_but_the_page_itself(workspace: Workspace) -> None:
    report = await asyncio.to_thread(opened, workspace)
    async with stranger(report["url"]) as other:
        for headers in (
            {"origin": ELSEWHERE},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"host": "evil.example"},
            {"host": f"localhost:{other.url.rstrip('/').rpartition(':')[2]}"},
        ):
            assert (await other.login(report["link"], **headers)).status_code in (403, 421)
        token = report["link"].partition("#login=")[2]
        plain = await other.http.get(f"{other.url}page/login", params={"token": token})
        assert plain.status_code == 405
        form = await other.http.post(
            f"{other.url}page/login", data={"token": token}, headers={"origin": other.origin}
        )
        assert form.status_code == 415
        without = await other.http.post(f"{other.url}page/login", json={"token": token})
        assert without.status_code == 403
        for guess in ("", "x", token[:-1], token + "x", token.swapcase()):
            assert (await other.login(f"#login={guess}")).status_code == 401
        # Nothing of it has used the link up.
        assert (await other.login(report["link"])).status_code == 200


def test_a_link_ends_by_itself_and_the_oldest_gives_way() -> None:
    now = [0.0]
    numbers = iter(range(10))
    links: SingleUse[str] = SingleUse(
        lambda: str(next(numbers)), lasts_s=5, most=2, clock=lambda: now[0]
    )
    one, two, three = links.issue("a"), links.issue("b"), links.issue("c")
    assert (links.take(one), links.take(two), links.take(two)) == (None, "b", None)
    now[0] = 5.0
    assert links.take(three) is None


@attack("P2")
async def test_a_cookie_alone_is_worth_nothing(workspace: Workspace) -> None:
    """It goes to every port of this machine, and so to servers that are not ours."""
    async with visitor(workspace) as (visiting, _):
        url = f"{visiting.url}page/api/status"
        both = visiting.headers
        for headers in (
            {**both, KEY: ""},
            {**both, KEY: visiting.key[:-1]},
            {**both, "cookie": ""},
            {**both, "cookie": visiting.cookie[:-1] + ("1" if visiting.cookie[-1] == "0" else "0")},
            {**both, "cookie": visiting.cookie.replace("switchboard-", "switchboard-1")},
        ):
            assert (await visiting.http.post(url, json={}, headers=headers)).status_code == 401
        assert (await visiting.http.post(url, json={}, headers=both)).status_code == 200


def test_a_visit_belongs_to_one_listener_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Visits("secret", "http://127.0.0.1:1000")
    visit = ours.begin(ours.link())
    assert visit is not None
    assert ours.holds(visit.cookie, visit.key)
    assert not Visits("secret", "http://127.0.0.1:1001").holds(visit.cookie, visit.key)
    assert not Visits("other", "http://127.0.0.1:1000").holds(visit.cookie, visit.key)
    again = Visits("secret", "http://127.0.0.1:1000")
    assert again.holds(visit.cookie, visit.key), "a new daemon knows it again"
    other = ours.begin(ours.link())
    assert other is not None
    assert not ours.holds(visit.cookie, other.key)
    until = int(visit.cookie.partition(".")[0])
    monkeypatch.setattr("time.time", lambda: until + 1.0)
    assert not ours.holds(visit.cookie, visit.key)
    longer = f"{until + VISIT_S}.{visit.cookie.partition('.')[2]}"
    assert not ours.holds(longer, visit.key)


async def test_the_cookie_is_for_the_page_alone(workspace: Workspace) -> None:
    report = await asyncio.to_thread(opened, workspace)
    async with stranger(report["url"]) as other:
        answer = await other.login(report["link"])
        attributes = set(answer.headers["set-cookie"].split("; ")[1:])
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= attributes
        assert answer.headers["cache-control"] == "no-store"
        out = await other.http.post(f"{other.url}page/logout", json={}, headers=other.headers)
        assert "Max-Age=0" in out.headers["set-cookie"]


@attack("P3")
async def test_every_route_is_reached_under_one_name_and_from_one_origin(
    workspace: Workspace,
) -> None:
    async with visitor(workspace) as (visiting, _):
        routes = ("", "page.js", "page/login", "page/logout", "page/events", "page/api/status")
        for route in routes:
            for headers, status in (
                ({"host": "evil.example"}, 421),
                ({"host": "localhost"}, 421),
                ({"origin": ELSEWHERE}, 403),
                ({"origin": "null"}, 403),
            ):
                for method in ("GET", "POST"):
                    answer = await visiting.http.request(
                        method, visiting.url + route, headers={**visiting.headers, **headers}
                    )
                    assert answer.status_code == status, (route, headers, method)


@attack("P3")
async def test_every_answer_forbids_frames_and_foreign_scripts(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _):
        for route in ("", "page.css", "nothing", "page/api/status", "page/login"):
            answer = await visiting.http.get(visiting.url + route, headers=visiting.headers)
            policy = answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in answer.headers


@attack("P4")
async def test_nothing_is_changed_by_get_or_without_the_origin(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _):
        fields = {"action": "restart", "name": "echo"}
        url = f"{visiting.url}page/api/child"
        assert (await visiting.http.get(url, headers=visiting.headers)).status_code == 405
        bare = {name: value for name, value in visiting.headers.items() if name != "origin"}
        assert (await visiting.http.post(url, json=fields, headers=bare)).status_code == 403
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            answer = await visiting.http.post(
                url, content=b"{}", headers={**visiting.headers, "content-type": kind}
            )
            assert answer.status_code == 415


async def test_the_page_cannot_ask_for_everything(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _):
        for word in ("call", "open", "stop", "drain", "vault-unlock", "result"):
            assert (await visiting.ask(word)).status_code == 404
        for file in ("../visits.py", "%2e%2e/site.py", "/etc/passwd", "files/page.js"):
            answer = await visiting.http.get(visiting.url + file)
            assert answer.status_code == 404


def _nobody_else(address: str, port: int, to_port: int) -> int:
    del address, port, to_port
    return os.getuid()


def _nobody_tells(address: str, port: int, to_port: int) -> int:
    raise Unknown(f"whose {address}:{port} to {to_port} is")


def _somebody_else(address: str, port: int, to_port: int) -> int:
    del address, port, to_port
    return os.getuid() + 12345


@attack("T59")
async def test_a_request_that_is_nested_too_deeply_is_refused_like_any_other(
    workspace: Workspace,
) -> None:
    deep = "[" * 5_000 + "]" * 5_000
    async with visitor(workspace) as (visiting, _):
        answer = await visiting.http.post(
            f"{visiting.url}page/api/status",
            content=f'{{"a": {deep}}}',
            headers={**visiting.headers, "content-type": "application/json"},
        )
        assert (answer.status_code, "nested too deeply" in answer.text) == (400, True)
        assert (await visiting.ask("status")).status_code == 200
    assert "Traceback" not in (workspace.home / "logs" / "daemon.log").read_text("utf-8")


@attack("P3")
async def test_a_header_that_says_where_a_request_comes_from_says_it_once_and_exactly(
    workspace: Workspace,
) -> None:
    async with visitor(workspace) as (visiting, _):
        url = f"{visiting.url}page/api/status"
        given = [*visiting.headers.items(), ("content-type", "application/json")]
        sites = [("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-origin")]
        answer = await visiting.http.post(url, content="{}", headers=[*given, *sites])
        assert answer.status_code == 400
        # A blank that is none for HTTP is a part of the name.
        name = visiting.origin.removeprefix("http://").encode() + b"\xa0"
        named = [(each.encode(), value.encode()) for each, value in given]
        answer = await visiting.http.post(url, content="{}", headers=[*named, (b"host", name)])
        assert answer.status_code == 421


@attack("P5")
async def test_another_user_of_the_machine_cannot_log_in(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visitor(workspace) as (visiting, _):
        # The connection of this very process, as the kernel tells it.
        port = int(visiting.origin.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        own = writer.get_extra_info("sockname")[1]
        assert connected_user("127.0.0.1", own, port) == os.getuid()
        writer.close()
        del reader
    monkeypatch.setattr(site, "connected_user", _somebody_else)
    visits = Visits("secret", "http://127.0.0.1:1")
    app = site.PageSite(None, visits, lambda _: lambda: None, 1)  # pyright: ignore[reportArgumentType]
    transport = httpx2.ASGITransport(app=app)  # pyright: ignore[reportArgumentType]
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as http:
        other = Visitor(http, "http://127.0.0.1:1/")
        answer = await other.login(f"#login={visits.link()}")
    assert answer.status_code == 403
    assert "another user" in answer.text


@attack("T56")
async def test_another_user_who_has_the_login_of_a_browser_sees_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no daemon runs, they listen at its port, and open pages send them cookie and key."""
    del workspace
    visits = Visits("secret", "http://127.0.0.1:1")
    app = site.PageSite(None, visits, lambda _: lambda: None, 1)  # pyright: ignore[reportArgumentType]
    transport = httpx2.ASGITransport(app=app)  # pyright: ignore[reportArgumentType]
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as http:
        other = Visitor(http, "http://127.0.0.1:1/")
        monkeypatch.setattr(site, "connected_user", _nobody_else)
        assert (await other.login(f"#login={visits.link()}")).status_code == 200
        monkeypatch.setattr(site, "connected_user", _somebody_else)
        for word in ("status", "approvals", "stop-calls", "decide"):
            answer = await other.ask(word)
            assert (answer.status_code, "another user" in answer.text) == (403, True)
        stream = await http.get("/page/events", headers=other.headers)
        assert stream.status_code == 403


@attack("T56")
async def test_whoever_may_be_another_user_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container that hides the tables of sockets, for one."""
    del workspace
    visits = Visits("secret", "http://127.0.0.1:1")
    app = site.PageSite(None, visits, lambda _: lambda: None, 1)  # pyright: ignore[reportArgumentType]
    transport = httpx2.ASGITransport(app=app)  # pyright: ignore[reportArgumentType]
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as http:
        other = Visitor(http, "http://127.0.0.1:1/")
        monkeypatch.setattr(site, "connected_user", _nobody_else)
        assert (await other.login(f"#login={visits.link()}")).status_code == 200
        monkeypatch.setattr(site, "connected_user", _nobody_tells)
        for word in ("status", "decide"):
            answer = await other.ask(word)
            assert (answer.status_code, "does not tell" in answer.text) == (403, True)


@attack("P6")
async def test_a_client_gets_neither_link_nor_code(workspace: Workspace) -> None:
    async with shim(workspace):
        for words in ((), ("--code",)):
            done = await asyncio.to_thread(
                switchboard, workspace, "open", "--no-browser", "--json", *words
            )
            assert done.code == 1
            assert done.report["reason"] == "own-consent"
            assert "#login" not in done.out


@attack("P6")
async def test_a_yes_takes_a_code_that_counts_once_and_a_no_takes_none(
    workspace: Workspace,
) -> None:
    async with visitor(workspace) as (visiting, report):
        async with waiting_call(workspace) as (question, process):
            for proof in ("", "aaaa-aaaa", report["code"][:-1]):
                refused = await visiting.ask("decide", id=question, approves=True, proof=proof)
                assert refused.status_code == 403
                assert refused.json()["fault"]["reason"] == "presence-unproven"
            another = await visiting.ask(
                "decide", id=question, approves=True, proof=report["code"], digest="other"
            )
            assert another.json()["fault"]["reason"] == "not-what-was-shown"
            yes = await visiting.ask("decide", id=question, approves=True, proof=report["code"])
            assert yes.json()["verdict"] == "approved", "what was refused did not cost the code"
        assert process.returncode == 0
        assert (workspace.root / "touched").exists()
        (workspace.root / "touched").unlink()
        async with waiting_call(workspace) as (question, process):
            used = await visiting.ask("decide", id=question, approves=True, proof=report["code"])
            assert used.json()["fault"]["reason"] == "presence-unproven"
            no = await visiting.ask("decide", id=question, approves=False)
            assert no.json()["verdict"] == "denied"
        assert process.returncode != 0
        assert not (workspace.root / "touched").exists()
        found = (await visiting.ask("approvals", everything=True)).json()["calls"]
        assert [each["answer"]["by"] for each in found] == ["page", "page"]
        assert "switchboard" in found[0]["answer"]["chain"], "whoever was shown the code is noted"


@attack("T60")
async def test_a_code_for_one_call_is_not_worth_a_yes_for_the_session_or_for_good(
    workspace: Workspace,
) -> None:
    """How far a yes goes is chosen on the page, and an agent may be who drives that."""
    gate = Gate(workspace)
    async with visitor(workspace) as (visiting, report), gate.window(capabilities={}) as client:

        async def decide(extent: str, proof: str) -> httpx2.Response:
            (posted,) = (await visiting.ask("approvals")).json()["calls"]
            assert {"once", "session"} <= set(posted["question"]["offers"])
            return await visiting.ask(
                "decide", id=posted["question"]["id"], approves=True, extent=extent, proof=proof
            )

        begun = client.begin("tools/call", call("write", text="one"))
        await gate.waiting()
        for extent in ("session", "always"):
            refused = (await decide(extent, report["code"])).json()["fault"]
            if extent == "session":
                assert refused["reason"] == "presence-unproven"
                assert "--lasting" in refused["hint"]
        assert (await decide("once", report["code"])).status_code == 200, "it cost no code"
        await client.answer_to(begun)
        begun = client.begin("tools/call", call("write", text="two"))
        await gate.waiting()
        code = (await asyncio.to_thread(opened, workspace, "--code", "--lasting"))["code"]
        assert (await decide("session", code)).status_code == 200
        await client.answer_to(begun)
        # Trusted for the session: nobody is asked.
        await client.answer_to(client.begin("tools/call", call("write", text="three")))
    assert gate.written == ["one", "two", "three"]


@attack("P6")
async def test_codes_are_not_tried_out(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, report), waiting_call(workspace) as (question, _):
        for _ in range(5):
            await visiting.ask("decide", id=question, approves=True, proof="aaaa-aaaa")
        late = await visiting.ask("decide", id=question, approves=True, proof=report["code"])
        assert late.status_code == 403
        other = (await asyncio.to_thread(opened, workspace, "--code"))["code"]
        assert other
        yes = await visiting.ask("decide", id=question, approves=True, proof=other.upper())
        assert yes.status_code == 200


async def test_the_link_is_refused_after_the_daemon_has_ended(workspace: Workspace) -> None:
    report = await asyncio.to_thread(opened, workspace)
    await asyncio.to_thread(switchboard, workspace, "daemon", "stop")
    again = await asyncio.to_thread(opened, workspace)
    assert again["url"] == report["url"], "a bookmark goes on leading there"
    async with asyncio.timeout(PATIENCE), stranger(again["url"]) as other:
        assert (await other.login(report["link"])).status_code == 401
        assert (await other.login(again["link"])).status_code == 200
