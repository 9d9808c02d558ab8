"""Logging in, seeing and ending logins by command, against a real authorization server."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from support.logging_in import Ended, ended, log_in, page_of, ran, started
from support.oauth_servers import OAuthServers, browse, log_in_at, oauth_servers
from support.workspace import Workspace

pytestmark = pytest.mark.timeout(180)
SECRET = "canary-secret-of-the-client"


@pytest.fixture
async def servers() -> AsyncGenerator[OAuthServers]:
    async with oauth_servers(secret=SECRET) as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    yield made
    made.stop_daemon()


def everything_written(workspace: Workspace) -> str:
    """All that lies in the home and the workspace, as text."""
    paths = [
        path
        for root in (workspace.user_home, workspace.root)
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in paths)


async def none_is_shown(workspace: Workspace) -> None:
    """Nobody is logged in, and that is told."""
    status = await ran(workspace, "mcp", "auth", "status", "--json")
    (login,) = json.loads(status.stdout)["logins"]
    assert (login["server"], login["state"], status.code) == ("notes", "none", 1)


@pytest.mark.requirement("S4.37", "S4.38", "S4.39", "S3.54", "S3.55")
async def test_one_login_serves_every_session_and_lasts(
    servers: OAuthServers, workspace: Workspace
) -> None:
    file = workspace.mcp_json({"notes": {"url": servers.url}})
    before = file.read_bytes()

    missing = await ran(workspace, "call", "notes", "whoami", "--json")
    error = json.loads(missing.stdout)
    assert (error["code"], error["reason"]) == ("unauthenticated", "login-required")
    assert error["hint"] == "switchboard mcp auth login notes"
    # It said so itself, and nothing in the configuration does.
    await none_is_shown(workspace)

    done = await log_in(workspace, "notes")
    assert done.code == 0, done.stderr
    assert "logged in to notes" in done.stdout
    # The same call, in the same daemon, which nobody has told.
    assert (await ran(workspace, "call", "notes", "whoami")).stdout == "logged in as ada\n"
    assert len(servers.those("registration")) == 1

    status = json.loads((await ran(workspace, "mcp", "auth", "status", "--json")).stdout)
    (login,) = status["logins"]
    assert login["state"] == "valid"
    assert login["renews"] is True
    assert (login["issuer"], login["scopes"]) == (servers.issuer, ["tools.read"])
    shown = json.loads((await ran(workspace, "status", "--json")).stdout)
    assert shown["daemon"]["logins"][0]["server"] == "notes"
    assert "notes" in (await ran(workspace, "status")).stdout

    more = await ran(workspace, "call", "notes", "write", "--json")
    error = json.loads(more.stdout)
    assert error["reason"] == "scope-missing"
    assert error["hint"] == "switchboard mcp auth login notes --scope tools.write"
    await log_in(workspace, "notes", "--scope", "tools.write", user="bob")
    assert (await ran(workspace, "call", "notes", "write")).stdout == "logged in as bob\n"
    granted = servers.those("grant", type="authorization_code")
    assert [each["resource"] for each in granted] == [servers.url] * 2
    # The tokens and the client of the first login are gone, also at the server.
    assert len(servers.those("revocation")) == 2
    first, second = [each["client"] for each in servers.those("registration")]
    assert [each["client"] for each in servers.those("unregistration")] == [first]

    shown = await ran(workspace, "login", "--json")
    assert [each["state"] for each in json.loads(shown.stdout)["logins"]] == ["valid"]
    out = await ran(workspace, "logout", "notes")
    assert out.stdout == "logged out of notes\n"
    assert len(servers.those("revocation")) == 4
    assert [each["client"] for each in servers.those("unregistration")] == [first, second]
    gone = json.loads((await ran(workspace, "call", "notes", "whoami", "--json")).stdout)
    assert gone["reason"] == "login-required"
    await none_is_shown(workspace)
    assert (await ran(workspace, "mcp", "auth", "status", "notes")).code == 1
    assert file.read_bytes() == before
    # What became of the login was written down, by whichever process it was.
    log = (await ran(workspace, "audit", "export")).stdout
    records = [json.loads(line)["record"] for line in log.splitlines()]
    told = [each for each in records if each["event"].startswith("login.")]
    assert [(each["event"], each["server"]) for each in told] == [
        ("login.made", "notes"),
        ("login.made", "notes"),
        ("login.ended", "notes"),
    ]
    assert "scopes tools.read tools.write" in told[1]["note"]
    assert told[2]["note"].endswith("revoked: yes")


@pytest.mark.requirement("S4.39", "S4.43", "S4.44", "S4.45", "S4.46", "S4.51", "S4.52")
async def test_a_configured_client_proves_who_it_is_and_asks_for_its_scopes_alone(
    servers: OAuthServers, workspace: Workspace
) -> None:
    auth = {
        "type": "oauth2_pkce",
        "client_id": "secret-client",
        "client_secret_ref": "env:NOTES_SECRET",
        "issuer_url": servers.issuer,
        "scopes": ["tools.write"],
    }
    workspace.mcp_json({"notes": {"url": servers.url, "auth": auth}})
    without = await ran(workspace, "mcp", "auth", "login", "notes", "--json")
    assert json.loads(without.stdout)["reason"] == "secret-missing"
    assert servers.those("grant") == []
    workspace.env["NOTES_SECRET"] = SECRET
    done = await log_in(workspace, "notes")
    assert done.code == 0, done.stderr
    assert "it asks for: tools.write offline_access" not in done.stdout
    assert (await ran(workspace, "call", "notes", "write")).stdout == "logged in as ada\n"
    assert servers.those("registration") == []
    assert {each["client"] for each in servers.those("grant")} == {"secret-client"}
    # The same client once more: the server may end all that it was granted, so nothing is revoked.
    assert (await log_in(workspace, "notes")).code == 0
    assert servers.those("revocation") == []
    grown = await ran(workspace, "mcp", "auth", "login", "notes", "--scope", "tools.read", "--json")
    assert json.loads(grown.stdout)["reason"] == "scope-not-configured"
    # The secret is in no file but the vault, which shows nothing.
    assert SECRET not in everything_written(workspace)


@pytest.mark.requirement("S4.40", "S4.42")
async def test_a_client_secret_can_lie_in_the_vault(
    servers: OAuthServers, workspace: Workspace
) -> None:
    workspace.config_toml('[vault]\nkey = "own-key-file"\n', scope="home")
    auth = {
        "type": "oauth2_pkce",
        "client_id": "secret-client",
        "client_secret_ref": "vault:mcp/notes/oauth/client-secret",
        "issuer_url": servers.issuer,
    }
    workspace.mcp_json({"notes": {"url": servers.url, "auth": auth}}, scope="home")
    put = await started(workspace, "vault", "put", "mcp/notes/oauth/client-secret")
    assert (await ended(put, pasted=SECRET)).code == 0
    done = await log_in(workspace, "notes")
    assert done.code == 0, done.stderr
    assert (await ran(workspace, "call", "notes", "whoami")).stdout == "logged in as ada\n"
    assert SECRET not in everything_written(workspace)


async def test_the_browser_is_opened_without_a_shell_and_not_by_a_variable(
    servers: OAuthServers, workspace: Workspace, tmp_path: Path
) -> None:
    workspace.mcp_json({"notes": {"url": servers.url}})
    programs = tmp_path / "programs"
    programs.mkdir()
    _program(programs / "xdg-open", f'printf "%s\\n" "$#" "$1" "$BROWSER" > {tmp_path}/opened')
    _program(programs / "evil", f"touch {tmp_path}/evil")
    process = await started(
        workspace,
        *("mcp", "auth", "login", "notes"),
        PATH=f"{programs}:{workspace.env['PATH']}",
        BROWSER=f"{programs}/evil %s",
    )
    url = await page_of(process)
    async with asyncio.timeout(30):
        while not (tmp_path / "opened").exists() or not (tmp_path / "opened").read_text():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.05)
    assert (tmp_path / "opened").read_text().splitlines() == ["1", url, ""]
    assert await browse(url) == 200
    assert (await ended(process)).code == 0
    assert not (tmp_path / "evil").exists()


async def test_the_address_can_be_pasted_from_another_machine(
    servers: OAuthServers, workspace: Workspace
) -> None:
    workspace.mcp_json({"notes": {"url": servers.url}})
    process = await started(workspace, "mcp", "auth", "login", "notes", "--no-browser")
    target = await log_in_at(await page_of(process))
    assert (await ended(process, pasted=target)).code == 0
    # This server names itself in its answers, so a bare code is not enough.
    process = await started(workspace, "mcp", "auth", "login", "notes", "--no-browser", "--json")
    await log_in_at(await page_of(process))
    bare = await ended(process, pasted="a-code")
    assert json.loads(bare.stdout)["reason"] == "login-refused"
    process = await started(workspace, "mcp", "auth", "login", "notes", "--no-browser", "--json")
    target = await log_in_at(await page_of(process))
    foreign = await ended(process, pasted=target.replace("state=", "state=x"))
    assert json.loads(foreign.stdout)["reason"] == "login-refused"


async def test_a_device_without_a_browser_is_let_in_by_a_code(
    servers: OAuthServers, workspace: Workspace
) -> None:
    workspace.mcp_json({"notes": {"url": servers.url}})
    process = await started(workspace, "mcp", "auth", "login", "notes", "--device")
    page = await page_of(process)
    await log_in_at(page, stop_at="")
    done = await ended(process)
    assert done.code == 0, done.stderr
    assert (await ran(workspace, "call", "notes", "whoami")).stdout == "logged in as ada\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mcp", "auth"), "needs one of"),
        (("mcp", "auth", "lgin"), "needs one of"),
        (("mcp", "auth", "login"), "`NAME` is missing"),
        (("mcp", "auth", "login", "nothing"), "no server"),
        (("mcp", "auth", "login", "here"), "a program on this machine"),
        (("mcp", "auth", "login", "far", "--port", "x"), "`--port`"),
        (("mcp", "other"), "cannot be `other`"),
        (("mcp", "--device"), "belongs to `mcp auth login`"),
    ],
)
async def test_what_cannot_be_meant_is_said(
    workspace: Workspace, words: tuple[str, ...], says: str
) -> None:
    workspace.echo_child("here")
    workspace.mcp_json({"far": {"url": "http://127.0.0.1:9/mcp"}})
    said: Ended = await ran(workspace, *words)
    assert said.code
    assert says in said.stderr


async def test_an_untrusted_server_of_a_workspace_is_not_even_asked(
    servers: OAuthServers, workspace: Workspace
) -> None:
    del workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    workspace.mcp_json({"notes": {"url": servers.url}})
    said = await ran(workspace, "mcp", "auth", "login", "notes", "--json")
    assert json.loads(said.stdout)["reason"] == "server-not-trusted"
    assert servers.those("request") == []


async def test_the_doctor_tells_of_logins_that_are_missing(
    servers: OAuthServers, workspace: Workspace
) -> None:
    auth = {"type": "oauth2_pkce", "client_id": "public-client", "issuer_url": servers.issuer}
    workspace.mcp_json({"notes": {"url": servers.url, "auth": auth}})
    told = json.loads((await ran(workspace, "doctor", "--json")).stdout)
    assert {
        "severity": "warning",
        "subject": "notes",
        "message": "nobody is logged in",
        "hint": "switchboard mcp auth login notes",
        "remedy": [],
    } in told["findings"]


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    assert os.access(path, os.X_OK)
