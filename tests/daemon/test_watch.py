"""`watch`: a server under development is started anew when its files change."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from support.daemons import shim
from support.workspace import Workspace, child_command, server

_SERVER = """
import sys
sys.path.insert(0, {children!r})
from mcp.server.mcpserver import MCPServer
mcp = MCPServer("mine")

@mcp.tool()
def {tool}() -> str:
    "Say a word."
    return "{tool}"

mcp.run()
"""
_PATIENCE = 60.0


def _write(path: Path, tool: str) -> None:
    children = str(Path(child_command("x")[1]).parent)
    path.write_text(_SERVER.format(children=children, tool=tool), "utf-8")


async def _report(watching: asyncio.subprocess.Process) -> dict[str, Any]:
    assert watching.stdout is not None
    async with asyncio.timeout(_PATIENCE):
        return json.loads(await watching.stdout.readline())


async def test_clients_notice_nothing_but_new_tools(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    script = folder / "mine.py"
    _write(script, "first")
    entry = server([sys.executable, script], expose="tools")
    workspace.mcp_json({"mine": entry}, scope="home")
    async with shim(workspace) as client:
        assert "first" in await client.tools()
        watching = await asyncio.create_subprocess_exec(
            *workspace.command("watch", "mine", "--json"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=workspace.env,
            cwd=workspace.root,
        )
        try:
            assert watching.stderr is not None
            async with asyncio.timeout(_PATIENCE):
                assert b"watching 1 file in " in await watching.stderr.readline()
            _write(script, "second")
            told = await _report(watching)
            assert told["changed"] == [str(script)]
            assert told["count"] == 1
            await client.message("notifications/tools/list_changed", patience=_PATIENCE)
            assert "second" in await client.tools()
            assert "first" not in await client.tools()
            # A slip of the pen is told, and mended by the next write.
            script.write_text("this is no Python\n", "utf-8")
            await _report(watching)
            _write(script, "third")
            await _report(watching)
            async with asyncio.timeout(_PATIENCE):
                while "third" not in await client.tools():
                    await client.message("notifications/tools/list_changed", patience=_PATIENCE)
        finally:
            watching.terminate()
            await watching.wait()


async def test_who_watches_a_server_of_a_workspace_is_told_that_a_change_ends_the_trust(
    workspace: Workspace,
) -> None:
    _write(workspace.root / "mine.py", "first")
    workspace.mcp_json({"mine": server([sys.executable, "mine.py"])})
    watching = await asyncio.create_subprocess_exec(
        *workspace.command("watch", "mine"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=workspace.env,
        cwd=workspace.root,
    )
    try:
        assert watching.stderr is not None
        async with asyncio.timeout(_PATIENCE):
            told = [(await watching.stderr.readline()).decode() for _ in range(3)]
        assert told[1] == "a change of its code ends the trust in `mine`, which then waits for it\n"
        assert told[2] == "hint: switchboard trust --dev mine\n"
    finally:
        watching.kill()
        await watching.wait()
