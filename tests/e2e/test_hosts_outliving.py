"""Real hosts in a terminal: the daemon ends under them, and their next call works."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client, StdioServerParameters

from cli.commands import switchboard
from e2e.questioned import HOSTS, Script, seated, until_called, workspace
from support.daemons import daemon_pid
from support.models.script import Reply, Situation, Stumble, use
from support.processes import alive, until_true
from support.workspace import Workspace

End = Callable[[Workspace], Awaitable[None]]
READ = use("memory_suite", action="call", subtool="read_graph", args={})

__all__ = ["workspace"]


@pytest.fixture
def echoing(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    workspace.echo_child()
    yield workspace
    workspace.stop_daemon()


async def killed(workspace: Workspace) -> None:
    os.kill(daemon_pid(workspace), signal.SIGKILL)


async def restarted(workspace: Workspace) -> None:
    before = daemon_pid(workspace)
    done = await asyncio.to_thread(switchboard, workspace, "daemon", "restart", "--json")
    assert done.report["state"] == "started"
    await until_true(lambda: not alive(before))


@pytest.mark.parametrize("end", [killed, restarted])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_next_call_of_the_sdk_works(
    mode: Literal["legacy", "2026-07-28"], end: End, echoing: Workspace
) -> None:
    command, *args = echoing.command("mcp")
    board = StdioServerParameters(command=command, args=args, env=echoing.env, cwd=echoing.root)
    async with asyncio.timeout(90), Client(board, mode=mode) as client:
        for text in ("first", "second", "third"):
            arguments = {"action": "call", "subtool": "echo", "args": {"text": text}}
            found = await client.call_tool("echo_suite", arguments)
            assert f"echo: {text}" in found.model_dump_json()
            await end(echoing)
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo_suite"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("end", [killed, restarted])
@pytest.mark.parametrize("name", HOSTS)
async def test_the_next_call_of_a_host_works(name: str, end: End, workspace: Workspace) -> None:
    host = HOSTS[name]
    scripts = [Script([READ], says="that was one"), Script([READ], says="that was two")]

    def turn(situation: Situation) -> Reply | Stumble:
        return scripts[0](situation)

    with seated(host, workspace, (120, 45), turn) as desk:
        until_called(desk, host, scripts[0])
        desk.pane.until_shown("that was one")
        await end(workspace)
        del scripts[0]
        until_called(desk, host, scripts[0])
        desk.pane.until_shown("that was two")
        calls = [each for each in desk.model.results if "entities" in each]
        assert len(calls) == 2, desk.pane.screen
        # The call, made at once, and the words after it: no tool was missed meanwhile.
        assert scripts[0].turns == 2
