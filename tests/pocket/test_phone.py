"""Answers from a phone: what a link is worth, what a registered device is, and what is refused."""

import asyncio
import base64
import hashlib
import socket
import ssl
import stat
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cli.commands import switchboard
from page.visiting import waiting_call
from pocket.phones import PATIENCE, Phone, phone, phone_page
from pocket.telling import receiver, told_by
from support.daemons import shim
from support.requirements import attack
from support.workspace import Json, Workspace
from switchboard.control.answers import Decision, OfferedAnswers
from switchboard.control.client import running_daemon
from switchboard.control.requests import ControlRequest, OfferRequest, TokenAnswerRequest
from switchboard.core.faults import Fault
from switchboard.ipc.paths import places_from
from switchboard.pocket.nonces import LASTS_S, Nonces


def records(workspace: Workspace, event: str) -> list[Json]:
    done = switchboard(workspace, "audit", "tail", "--json", apart=True)
    assert done.code == 0, done.err
    found = [each["record"] for each in done.report["records"]]
    return [each for each in found if each["event"] == event]


async def test_a_registered_phone_sees_the_question_and_approves_it(workspace: Workspace) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page, phone(page) as own:
        async with waiting_call(workspace, "says", "text=plainly") as (question, process):
            (shown,) = await own.queue()
            assert shown["id"] == question
            assert "plainly" in shown["arguments"]
            assert "plainly" in "\n".join(shown["prompt"])
            answer = await own.answer(shown["yes"], shown["digest"])
            assert answer.json() == {"verdict": "approved", "tool": "says"}
        assert process.returncode == 0
        assert await own.queue() == []
    (decided,) = records(workspace, "approval.decided")
    assert decided["approval"]["channel"] == "device"
    assert decided["approval"]["chain"].startswith(f'device "test phone" {own.device} < ')
    (registered,) = records(workspace, "device.registered")
    assert own.device in registered["note"]


async def test_the_links_of_a_notification_lead_to_one_question_and_two_answers(
    workspace: Workspace,
) -> None:
    with receiver() as (url, received):
        told_by(workspace, f"ntfy:{url}/topic")
        async with phone_page(workspace) as page, phone(page) as own:
            async with waiting_call(workspace, "says", "text=unspoken-value") as (_, process):
                message = await received.wait()
                assert "unspoken-value" not in str(message)
                links = {each["label"]: each["url"] for each in message["actions"]}
                assert links.keys() == {"Answer", "Deny"}
                assert links["Answer"].startswith(page.url)
                tokens = tokens_in(links["Answer"])
                yes = tokens["yes"][0]
                # A link alone tells what the notification told, and no more.
                brief = (await own.post("look", token=yes)).json()
                assert brief["tool"] == "says"
                assert not {"digest", "arguments", "prompt", "yes", "no"} & brief.keys()
                whole = (await own.signed("look", yes, token=yes)).json()
                assert "unspoken-value" in whole["arguments"]
                answer = await own.answer(yes, whole["digest"])
                assert answer.status_code == 200, answer.text
            assert process.returncode == 0


@attack("O3")
async def test_a_link_alone_is_worth_a_no_and_never_a_yes(workspace: Workspace) -> None:
    with receiver() as (url, received):
        told_by(workspace, f"webhook:{url}/x")
        async with phone_page(workspace) as page, phone(page, registered=False) as stranger:
            async with waiting_call(workspace) as (question, process):
                message = await received.wait()
                tokens = tokens_in(message["answer"])
                yes, no = tokens["yes"][0], tokens["no"][0]
                digest = await digest_of(workspace, question)
                plain = await stranger.post("answer", token=yes, digest=digest, approves=True)
                assert plain.json()["error"]["reason"] == "device-unproven"
                signed = await stranger.answer(yes, digest)
                assert signed.status_code == 403
                named = await stranger.answer(yes, digest, device="aaaaaaaa")
                assert named.status_code == 403
                crossed = await stranger.post("answer", token=yes, approves=False)
                assert crossed.status_code == 403
                denied = await stranger.post("answer", token=no, approves=False)
                assert denied.json()["verdict"] == "denied"
            assert process.returncode != 0
    assert not (workspace.root / "touched").exists()
    assert records(workspace, "approval.decided")[-1]["approval"]["channel"] == "notice"


@attack("O3")
async def test_the_daemon_itself_takes_no_yes_without_a_device_and_what_it_was_shown(
    workspace: Workspace,
) -> None:
    told_by(workspace)

    def ask(wanted: ControlRequest, kind: type[Any]) -> Any:
        client = running_daemon(places_from(workspace.env))
        assert client is not None
        try:
            return client.answer(wanted, kind)
        finally:
            client.close()

    async with waiting_call(workspace) as (question, _):
        found = await asyncio.to_thread(ask, OfferRequest(), OfferedAnswers)
        (offer,) = found.offers
        for device, digest in (("", offer.question.digest), ("device", "")):
            wanted = TokenAnswerRequest(
                token=offer.yes, approves=True, digest=digest, device=device
            )
            with pytest.raises(Fault) as refused:
                await asyncio.to_thread(ask, wanted, Decision)
            assert refused.value.reason == "presence-unproven"
        await asyncio.to_thread(switchboard, workspace, "approvals", "deny", question)
    assert not (workspace.root / "touched").exists()


@attack("O4")
async def test_a_token_counts_once_for_its_own_answer_and_question(workspace: Workspace) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page, phone(page) as own:
        async with waiting_call(workspace) as (_, process):
            (shown,) = await own.queue()
            wrong = await own.answer(shown["yes"], "0" * len(shown["digest"]))
            assert wrong.json()["error"]["reason"] == "not-what-was-shown"
            crossed = await own.answer(shown["no"], shown["digest"])
            assert crossed.json()["error"]["reason"] == "token-for-another-answer"
            # Signed for one answer, sent for another.
            nonce = await own.nonce()
            words = ("switchboard", own.origin, nonce, "answer", shown["yes"], shown["digest"])
            forged = await own.post(
                "answer",
                token=shown["yes"],
                digest=shown["digest"],
                approves=True,
                device=own.device,
                nonce=nonce,
                signature=own.signature(*words, "denied"),
            )
            assert forged.json()["error"]["reason"] == "device-unproven"
            # A number counts once.
            nonce = await own.nonce()
            proof = own.signature("switchboard", own.origin, nonce, "queue")
            for status in (200, 403):
                again = await own.post("queue", device=own.device, nonce=nonce, signature=proof)
                assert again.status_code == status
            assert (await own.answer(shown["yes"], shown["digest"])).status_code == 200
            twice = await own.answer(shown["yes"], shown["digest"])
            assert twice.json()["error"]["reason"] == "token-unknown"
            late = await own.answer(shown["no"], shown["digest"], approves=False)
            assert late.json()["error"]["reason"] == "decided-already"
        assert process.returncode == 0


@attack("O8")
async def test_a_yes_after_its_client_has_gone_runs_nothing(workspace: Workspace) -> None:
    told_by(workspace)
    async with (
        phone_page(workspace) as page,
        phone(page) as own,
        waiting_call(workspace) as (_, process),
    ):
        (shown,) = await own.queue()
        process.terminate()
        await process.wait()
        async with asyncio.timeout(PATIENCE):
            while await own.queue():  # noqa: ASYNC110 - the daemon notices that it has gone
                await asyncio.sleep(0.02)
        late = await own.answer(shown["yes"], shown["digest"])
        assert late.json()["error"]["reason"] == "decided-already"
    assert not (workspace.root / "touched").exists()


@attack("O5")
async def test_nobody_registers_without_the_code_or_speaks_for_another_device(
    workspace: Workspace,
) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page, phone(page, registered=False) as stranger:
        for code in ("aaaa-aaaa", "", page.code.upper() + "x"):
            assert (await stranger.register(code)).status_code == 403
        # The code with a key that is another's.
        nonce = await stranger.nonce()
        other = Phone(stranger.http, page.url)
        proof = other.signature("switchboard", other.origin, nonce, "pair", page.code)
        stolen = await stranger.post(
            "pair",
            code=page.code,
            name="x",
            key=stranger.key,
            nonce=nonce,
            signature=proof,
        )
        assert stolen.json()["error"]["reason"] == "device-unproven"
        assert (await stranger.register(page.code)).status_code == 200
        assert (await other.register(page.code)).status_code == 403
        other.device = stranger.device
        assert (await other.signed("queue")).status_code == 403
        # Taken off the list, it is nobody.
        words = ("approvals", "devices", stranger.device, "--remove", "--json")
        gone = await asyncio.to_thread(switchboard, workspace, *words)
        assert gone.code == 0, gone.err
        assert gone.report["devices"] == []
        assert (await stranger.signed("queue")).status_code == 403
    assert [len(records(workspace, f"device.{each}")) for each in ("registered", "removed")] == [
        1,
        1,
    ]
    # The next page has a code only because no device is left; one that has, if it is asked for.
    async with phone_page(workspace) as page, phone(page):
        assert page.code
    async with phone_page(workspace) as page:
        assert not page.code
    async with phone_page(workspace, "--pair") as page:
        assert page.code


@attack("O5")
async def test_five_wrong_codes_void_the_right_one(workspace: Workspace) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page, phone(page, registered=False) as stranger:
        for _ in range(5):
            assert (await stranger.register("aaaa-aaaa")).status_code == 403
        assert (await stranger.register(page.code)).status_code == 403


@attack("O6")
async def test_the_page_is_reached_under_its_name_from_itself_and_not_guessed_at(
    workspace: Workspace,
) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page, phone(page, registered=False) as own:
        index = await own.http.get(page.url)
        assert index.status_code == 200
        policy = index.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "'unsafe-inline'" not in policy
        assert index.headers["x-frame-options"] == "DENY"

        async def asked(word: str = "challenge", method: str = "POST", **headers: str) -> int:
            sent = {"origin": own.origin, "content-type": "application/json", **headers}
            sent = {name: value for name, value in sent.items() if value}
            url = f"{page.url}pocket/{word}"
            answer = await own.http.request(method, url, content=b"{}", headers=sent)
            return answer.status_code

        assert await asked() == 200
        assert await asked(host="localhost:1") == 421
        assert await asked(host="evil.example") == 421
        assert await asked(origin="https://evil.example") == 403
        assert await asked(origin=own.origin.replace("https", "http")) == 403
        assert await asked(origin="null") == 403
        assert await asked(origin="") == 403
        assert await asked(**{"sec-fetch-site": "cross-site"}) == 403
        assert await asked(**{"content-type": "text/plain"}) == 415
        for word in ("challenge", "answer", "pair", "queue", "look"):
            assert await asked(word, "GET") == 405
        assert await asked("status") == 404
        statuses = [
            (await own.post("look", token=f"guess{number}")).status_code for number in range(12)
        ]
        assert statuses[0] == 404
        assert statuses[-1] == 429
        assert (await own.post("challenge")).status_code == 429


@attack("O7")
@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "[::]", "8.8.8.8", "169.254.1.1", "localhost", "224.0.0.1", "127.0.0.1:99999", ""],
)
def test_no_public_address_and_no_name_is_listened_on(workspace: Workspace, address: str) -> None:
    done = switchboard(workspace, "approvals", "serve", "--listen", address, "--json", apart=True)
    assert done.code != 0
    assert not (workspace.home / "pocket.json").exists()


@attack("O5")
async def test_a_client_cannot_serve_phones(workspace: Workspace) -> None:
    told_by(workspace)
    # We are the client.
    async with shim(workspace):
        words = ("approvals", "serve", "--listen", "127.0.0.1:0", "--json")
        done = await asyncio.to_thread(switchboard, workspace, *words)
    assert done.report["reason"] == "own-consent"


@attack("O5")
async def test_a_yes_is_not_taken_from_a_page_that_the_asking_client_serves(
    workspace: Workspace,
) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page, phone(page) as own, shim(workspace) as client:
        # Now whoever serves phones was started by a client, which asks.
        calling = asyncio.ensure_future(client.call("writes", {}))
        async with asyncio.timeout(PATIENCE):
            while not (waiting := await own.queue()):  # noqa: ASYNC110 - the daemon asks
                await asyncio.sleep(0.02)
        refused = await own.answer(waiting[0]["yes"], waiting[0]["digest"])
        assert refused.json()["error"]["reason"] in {"own-approval", "own-consent"}
        denied = await own.answer(waiting[0]["no"], waiting[0]["digest"], approves=False)
        assert denied.status_code == 200
        await calling
    assert not (workspace.root / "touched").exists()


@attack("O9")
async def test_strangers_take_no_number_from_a_phone_and_bar_nobody_else(
    workspace: Workspace,
) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page, phone(page) as own:
        nonce = await own.nonce()
        async with phone(page, registered=False, address="127.0.0.2") as stranger:
            for _ in range(600):
                await stranger.nonce()
        for number in range(11):
            async with phone(page, registered=False, address=f"127.0.1.{number + 1}") as guessing:
                for _ in range(10):
                    assert (await guessing.post("look", token="guess")).status_code == 404
                assert (await guessing.post("look", token="guess")).status_code == 429
        proof = own.signature("switchboard", own.origin, nonce, "queue")
        for reason in ("", "nonce-unknown"):
            said = await own.post("queue", device=own.device, nonce=nonce, signature=proof)
            assert said.json().get("error", {}).get("reason", "") == reason


def test_a_number_to_sign_counts_once_for_a_while_and_with_us_alone() -> None:
    now = [1.0]
    ours, others = Nonces(lambda: now[0]), Nonces(lambda: now[0])
    one, two = ours.issue(), ours.issue()
    assert one != two
    assert ours.counts(one)
    assert not others.counts(one)
    ours.use(one)
    assert (ours.counts(one), ours.counts(two)) == (False, True)
    until, _, rest = two.partition(".")
    for made_up in ("", "x", "..", f"{until}9.{rest}", f"9{until}.{rest}", f"é{two}", two + "0"):
        assert not ours.counts(made_up), made_up
    now[0] += LASTS_S
    assert not ours.counts(two)
    # What was used is forgotten only once it would be too old.
    ours.use(ours.issue())
    assert not ours.counts(one)


@attack("O10")
async def test_those_who_connect_and_say_nothing_keep_no_phone_out(workspace: Workspace) -> None:
    """They hold a file each before they are encrypted; none of ours counts them but this."""
    told_by(workspace)
    async with phone_page(workspace, files=256) as page:
        host, _, port = page.url.removeprefix("https://").rstrip("/").rpartition(":")
        silent = [socket.create_connection((host, int(port)), PATIENCE) for _ in range(500)]
        try:
            async with phone(page) as own:
                assert await own.queue() == []
        finally:
            for each in silent:
                each.close()


async def test_what_is_kept_is_private_and_the_certificate_is_the_one_that_was_shown(
    workspace: Workspace,
) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page, phone(page):
        for name in ("pocket-certificate.pem", "devices.json", "pocket.json"):
            assert mode(workspace.home / name) == 0o600, name
        assert b"PRIVATE" not in (workspace.home / "devices.json").read_bytes()
        host, _, port = page.url.removeprefix("https://").rstrip("/").rpartition(":")
        pem = await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)))
        body = "".join(pem.splitlines()[1:-1])
        digest = hashlib.sha256(base64.b64decode(body)).hexdigest()
        assert page.fingerprint.replace(":", "").lower() == digest
        first = page.fingerprint
    assert not (workspace.home / "pocket.json").exists()
    async with phone_page(workspace) as page:
        assert page.fingerprint == first


async def digest_of(workspace: Workspace, question: str) -> str:
    words = ("approvals", "show", question, "--json")
    done = await asyncio.to_thread(switchboard, workspace, *words)
    return done.report["question"]["digest"]


def tokens_in(link: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(link).fragment)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
