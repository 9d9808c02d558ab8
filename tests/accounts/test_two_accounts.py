"""Two logins at one server, against a real authorization server: each call has its own."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ElicitResult

from support.logging_in import ended, log_in, ran, started
from support.oauth_servers import OAuthServers, oauth_servers
from support.reading import read_it, reply
from support.workspace import Json, Workspace

pytestmark = pytest.mark.timeout(240)
SECRET = "canary-secret-of-the-client"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    yield made
    made.stop_daemon()


def configure(workspace: Workspace, servers: OAuthServers) -> None:
    auth = {"type": "oauth2_pkce", "issuer_url": servers.issuer}
    secret = "vault:mcp/notes/oauth/me/client-secret"
    accounts = {
        "work": {
            "auth": {**auth, "client_id": "public-client"},
            "match": ["remote:github.com/acme/*"],
        },
        "me": {
            "auth": {**auth, "client_id": "secret-client", "client_secret_ref": secret},
            "default": True,
        },
    }
    workspace.mcp_json({"notes": {"url": servers.url, "accounts": accounts}}, scope="home")


def clone_of(workspace: Workspace, url: str) -> None:
    workspace.write(".git/config", f'[remote "origin"]\n\turl = {url}\n')


async def whoami(workspace: Workspace, *words: str) -> Json:
    done = await ran(workspace, "call", "notes", "whoami", "--json", *words)
    told: Json = json.loads(done.stdout)
    return told


async def text(workspace: Workspace, *words: str) -> str:
    told = await whoami(workspace, *words)
    said: str = told["result"]["content"][0]["text"]
    return said


class Person:
    """Whoever agrees to whatever they are shown, for the session."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        del context
        self.shown.append(params.message)
        await read_it()
        return ElicitResult.model_validate(reply("allow_session"))


@pytest.mark.requirement("S4.40")
async def test_every_call_has_the_login_of_its_account(workspace: Workspace) -> None:
    async with oauth_servers(secret=SECRET) as servers:
        configure(workspace, servers)
        clone_of(workspace, "git@github.com:acme/web.git")

        missing = await whoami(workspace)
        assert missing["reason"] == "login-required"
        assert missing["hint"] == "switchboard mcp auth login notes --account work"
        # Nobody is nobody: without its login an account is not even tried.
        assert servers.those("request") == []
        unsaid = await ran(workspace, "mcp", "auth", "login", "notes", "--json")
        assert json.loads(unsaid.stdout)["message"] == "`notes` has several accounts: work, me"

        put = await started(workspace, "vault", "put", "mcp/notes/oauth/me/client-secret")
        assert (await ended(put, pasted=SECRET)).code == 0
        done = await log_in(workspace, "notes", "--account", "work", user="ada")
        assert "logged in to notes as work" in done.stdout, done.stderr
        # One login is not another's, although it is the same server and the same machine.
        refused = await whoami(workspace, "--account", "me")
        assert refused["hint"] == "switchboard mcp auth login notes --account me"
        assert (await log_in(workspace, "notes", "--account", "me", user="bob")).code == 0
        both = [text(workspace), text(workspace, "--account", "me")]
        assert await asyncio.gather(*both) == ["logged in as ada", "logged in as bob"]
        unknown = await whoami(workspace, "--account", "mee")
        assert (unknown["reason"], unknown["hint"]) == ("unknown-account", "it has: work, me")
        clone_of(workspace, "https://github.com/bob/web")
        assert await text(workspace) == "logged in as bob"
        clone_of(workspace, "https://github.com/acme/web")

        # Another daemon has both logins, and asks with the name of the account.
        workspace.stop_daemon()
        workspace.config_toml("guard = true\n", scope="home")
        await _through_a_guarded_daemon(workspace)
        assert len(servers.those("grant", type="authorization_code")) == 2

        out = await ran(workspace, "mcp", "auth", "logout", "notes", "--account", "me")
        assert out.stdout == "logged out of notes as me\n"
        status = json.loads((await ran(workspace, "mcp", "auth", "status", "--json")).stdout)
        states = {each["account"]: each["state"] for each in status["logins"]}
        assert states == {"work": "valid", "me": "none"}
        calls = servers.those("request", method="tools/call")
        assert [each["who"] for each in calls[-3:]] == ["ada", "bob", "ada"]
        assert {each["who"] for each in servers.those("request", shown=True)} == {"ada", "bob"}


async def _through_a_guarded_daemon(workspace: Workspace) -> None:
    command, *args = workspace.command("mcp")
    board = StdioServerParameters(command=command, args=args, env=workspace.env, cwd=workspace.root)
    person = Person()
    whoami: Json = {"action": "call", "subtool": "whoami", "args": {}}
    async with asyncio.timeout(90), Client(board, elicitation_callback=person) as client:

        async def call(account: str = "") -> str:
            meta: Any = {"switchboard/account": account} if account else None
            result = await client.call_tool("notes_suite", whoami, meta=meta)
            assert isinstance(result, CallToolResult)
            return str(result.content)

        assert "logged in as ada" in await call()
        # What was agreed to for the session is for this account alone.
        assert "logged in as bob" in await call("me")
        # And it lasts while others are used.
        assert "logged in as ada" in await call()
        assert "has no account `x`" in await call("x")
        work, me = person.shown
        assert " · notes.whoami as work · at " in work
        assert "Account: work (`remote:github.com/acme/*` matches)" in work
        assert "Account: me (the call names it; here `work` is usual)" in me
        shown = (await ran(workspace, "status")).stdout
        assert "notes as work" in shown
        assert "notes as me" in shown
    log = json.loads((await ran(workspace, "audit", "tail", "--last", "100", "--json")).stdout)
    told = {(each["record"]["event"], each["record"].get("account")) for each in log["records"]}
    for event in ("approval.requested", "approval.decided", "tool.call.finished", "login.made"):
        assert {(event, "work"), (event, "me")} <= told, told
