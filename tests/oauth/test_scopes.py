"""A call that our login does not reach as far as, where a person has to agree to calls."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ElicitResult

from support.logging_in import log_in
from support.oauth_servers import oauth_servers
from support.reading import read_it, reply
from support.workspace import Json, Workspace


@pytest.mark.timeout(180)
async def test_nobody_is_asked_again_for_what_the_login_is_known_to_lack(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.config_toml("guard = true\n", scope="home")
    asked: list[str] = []

    async def agree(context: object, params: Any) -> ElicitResult:
        del context
        asked.append(params.message)
        await read_it()
        return ElicitResult.model_validate(reply("allow_once"))

    async with oauth_servers() as servers:
        # The same login, behind a suite and as plain tools.
        plain = {"url": servers.url, "expose": "tools"}
        workspace.mcp_json({"notes": {"url": servers.url}, "plain": plain})
        assert (await log_in(workspace, "notes")).code == 0
        command, *args = workspace.command("mcp")
        board = StdioServerParameters(
            command=command, args=args, env=workspace.env, cwd=workspace.root
        )
        async with asyncio.timeout(90), Client(board, elicitation_callback=agree) as client:
            listed = [each.name for each in (await client.list_tools()).tools]
            (write,) = [name for name in listed if name.endswith("write")]
            calls: list[tuple[str, Json]] = [
                ("notes_suite", {"action": "call", "subtool": "write", "args": {}}),
                (write, {}),
            ]

            async def done(name: str, arguments: Json) -> CallToolResult:
                result = await client.call_tool(name, arguments)
                assert isinstance(result, CallToolResult)
                return result

            for call in calls:
                asked.clear()
                for _ in range(3):
                    refused = await done(*call)
                    assert refused.is_error
                    assert "--scope tools.write" in str(refused.content)
                assert len(asked) == 1
            await log_in(workspace, "notes", "--scope", "tools.write")
            for call in calls:
                asked.clear()
                assert not (await done(*call)).is_error
                assert len(asked) == 1
