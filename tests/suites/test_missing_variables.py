"""A variable may be set where the user types, and not be handed on by the client."""

from pathlib import Path

import pytest

from support.mcp_stdio import LEGACY, talking_to
from support.workspace import Workspace, child_command, server


async def hint_for(tmp_path: Path, client_name: str) -> str:
    workspace = Workspace(tmp_path)
    entry = server(child_command("echo_child"), secret_env={"GH_TOKEN": "env:GH_TOKEN"})
    workspace.mcp_json({"hub": entry}, scope="home")
    command = workspace.command("mcp", "--in-process")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=60) as client:
        hello = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": client_name, "version": "1"},
        }
        await client.request("initialize", hello)
        await client.notify("notifications/initialized")
        answer = await client.call("hub_suite", {"action": "introspect"})
        assert answer["isError"]
        return str(answer)


@pytest.mark.parametrize("name", ["codex-mcp-client", "claude-code"])
async def test_codex_is_told_how_it_hands_a_variable_on(tmp_path: Path, name: str) -> None:
    said = await hint_for(tmp_path, name)
    assert "set `GH_TOKEN`" in said
    assert ("env_vars" in said) is (name == "codex-mcp-client")
