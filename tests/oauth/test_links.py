"""A client that can show links is shown where to log in, and its call goes on after the login."""

import asyncio
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.client.client import ConnectMode

from support.oauth_servers import browse, oauth_servers
from support.workspace import Json, Workspace

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
