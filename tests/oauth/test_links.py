"""A client that can show links is shown where to log in, and its call goes on after the login."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import mcp_types as types
import msgspec
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.client.client import ConnectMode
from msgspec import Raw

from fakes.audit import MemoryAudit
from fakes.events import MemoryEvents
from fakes.vault import MemoryVault
from oauth.scripted_servers import METADATA, ScriptedServers, Told, scripted_servers
from support.oauth_servers import browse, oauth_servers
from support.requirements import attack
from support.workspace import Json, Workspace
from switchboard.children.schema import OAuth, ServerEntry
from switchboard.core.channels.channel import Channel, Input
from switchboard.core.faults import Fault
from switchboard.oauth.addresses import rules_for
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.login.attempt import attempt_login
from switchboard.oauth.login.request import LoginRequest
from switchboard.oauth.login_trail import LoginTrail
from switchboard.oauth.logins import Logins

pytestmark = pytest.mark.timeout(180)


@pytest.mark.requirement("S4.37", "S3.54")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_call_waits_for_the_login_behind_a_link(tmp_path: Path, mode: ConnectMode) -> None:
    workspace = Workspace(tmp_path)
    shown: list[types.ElicitRequestURLParams] = []
    answers = iter(["decline", "accept"])

    async def follow(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        del context
        assert isinstance(params, types.ElicitRequestURLParams)
        shown.append(params)
        action = next(answers)
        if action == "accept":
            visits.append(asyncio.ensure_future(browse(params.url)))
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="decline")

    visits: list[asyncio.Future[int]] = []
    async with oauth_servers() as servers:
        workspace.mcp_json({"notes": {"url": servers.url}})
        command, *args = workspace.command("mcp")
        board = StdioServerParameters(
            command=command, args=args, env=workspace.env, cwd=workspace.root
        )
        client = Client(board, mode=mode, elicitation_callback=follow, read_timeout_seconds=60)
        async with client:
            call: tuple[str, Json] = (
                "notes_suite",
                {"action": "call", "subtool": "whoami", "args": {}},
            )
            refused = await client.call_tool(*call)
            assert refused.is_error
            assert "switchboard mcp auth login notes" in str(refused.content)
            done = await client.call_tool(*call)
            assert not done.is_error, done.content
            assert "logged in as ada" in str(done.content)
        assert [await visit for visit in visits] == [200]
        # Who declined and who comes later are shown the same page.
        assert shown[0].url == shown[1].url
        assert shown[0].url.startswith(f"{servers.issuer}/auth?")
        assert "`notes` at 127.0.0.1" in shown[0].message
        assert len(servers.those("registration")) == 1


class Declining:
    """The channel of a client that shows links, and of a person who follows none."""

    declared = b'{"elicitation": {"url": {}}}'

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        for each in wanted.values():
            self.shown.append(msgspec.json.decode(each.params, type=dict[str, Any])["url"])
        return dict.fromkeys(wanted, Raw(b'{"action": "decline"}'))


async def offered(
    servers: ScriptedServers,
    home: Path,
    auth: OAuth | None = None,
    secret: Callable[[str], str | None] = lambda _: None,
) -> tuple[list[str], MemoryAudit]:
    """Offer one login. Give what the client was shown, and what was written down."""
    audit = MemoryAudit()
    logins = Logins(
        GrantStore(str(home), MemoryVault),
        MemoryEvents(),
        LoginTrail(lambda: audit),
        lambda: "https://client.example/switchboard.json",
    )
    entry = ServerEntry(name="notes", transport="http", url=servers.url, auth=auth)
    channel = Declining()

    def note(_: object) -> None:
        pass

    logins.open(entry, environ={}, secret=secret, learn=note, forget=note)
    try:
        async with asyncio.timeout(30):
            assert not await logins.offer(entry, cast("Channel", channel))
    finally:
        await logins.aclose()
    return channel.shown, audit


async def test_a_link_names_the_published_description_of_the_client(tmp_path: Path) -> None:
    async with scripted_servers() as servers:
        said = servers.metadata(
            client_id_metadata_document_supported=True,
            authorization_response_iss_parameter_supported=True,
        )
        servers.script[METADATA] = Told(200, said)
        (url,), _ = await offered(servers, tmp_path)
        assert parse_qs(urlsplit(url).query)["client_id"] == [
            "https://client.example/switchboard.json"
        ]
        assert "/register" not in servers.paths()


@attack("T67")
async def test_a_server_that_does_not_name_itself_is_not_told_the_client_of_all(
    tmp_path: Path,
) -> None:
    """It could lead a person to the page of another server, where this client is let in unasked."""
    async with scripted_servers() as servers, scripted_servers() as honest:
        said = servers.metadata(
            client_id_metadata_document_supported=True,
            authorization_endpoint=f"{honest.base}/authorize",
        )
        servers.script[METADATA] = Told(200, said)
        (url,), _ = await offered(servers, tmp_path)
        assert url.startswith(f"{honest.base}/authorize?")
        assert parse_qs(urlsplit(url).query)["client_id"] == ["registered"]


@attack("T67")
@pytest.mark.parametrize("says", [True, False])
async def test_the_answer_of_another_server_gives_nobody_a_code(*, says: bool) -> None:
    """Whether it promises to name itself or not: who answers is another, or does not say."""
    async with scripted_servers() as servers:
        said = servers.metadata(authorization_response_iss_parameter_supported=says)
        servers.script[METADATA] = Told(200, said)
        entry = ServerEntry(name="notes", transport="http", url=servers.url)
        web = GuardedWeb(rules_for(entry), {})
        try:
            request = LoginRequest(entry=entry)
            attempt = await attempt_login(request, web, "http://127.0.0.1:9/callback")
            (state,) = parse_qs(urlsplit(attempt.url).query)["state"]
            answer = {"state": state, "code": "canary-of-a-code"}
            others = [
                {**answer, "iss": f"{servers.base}/"},
                {**answer, "iss": "https://else.example"},
            ]
            for each in [*others, *([answer] if says else [])]:
                with pytest.raises(Fault, match="not from the authorization server"):
                    await attempt.finish(each, web)
            assert "/token" not in servers.paths()
            await attempt.finish({**answer, "iss": servers.base}, web)
            assert "/token" in servers.paths()
        finally:
            await web.aclose()


async def test_nobody_waits_for_a_link_that_cannot_be_made(tmp_path: Path) -> None:
    def broken(_: str) -> str:
        raise RuntimeError("canary of a failure")

    async with scripted_servers() as servers:
        auth = OAuth(client_id="c", issuer_url=servers.base, client_secret_ref="env:SECRET")
        shown, audit = await offered(servers, tmp_path, auth, broken)
    assert shown == []
    (record,) = audit.records
    assert (record.event, record.reason) == ("login.failed", "login-failed")
    assert "canary" not in str(record)
