"""Shim, daemon and children under kernels that lack what is new: served, and ended whole."""

import asyncio
import os
import signal
import sys

import pytest

import support.without_calls
from support.daemons import daemon_pid
from support.mcp_stdio import talking_to, text_of
from support.processes import descendants_of, until_gone, until_true
from support.without_calls import PIDFD
from support.workspace import Workspace

WITHOUT = [sys.executable, support.without_calls.__file__]


@pytest.mark.parametrize("lacking", [PIDFD, f"{PIDFD},memfd_create,fallocate,statx"])
@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_a_daemon_without_new_calls_serves_and_leaves_nobody(
    workspace: Workspace, lacking: str, how: str
) -> None:
    command = [*WITHOUT, lacking, *workspace.command("mcp")]
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=30) as client:
        await client.discover()
        answer = await client.call_subtool("echo_suite", "echo", {"text": "there"})
        assert "echo: there" in text_of(answer)
        daemon = daemon_pid(workspace)
        below = descendants_of(daemon)
        assert below
        if how == "killed":
            os.kill(daemon, signal.SIGKILL)
            # The session goes on with another daemon, and the children of the first are gone.
            await until_gone(below)
            answer = await client.call_subtool("echo_suite", "echo", {"text": "again"})
            assert "echo: again" in text_of(answer)
            daemon = daemon_pid(workspace)
            below = descendants_of(daemon)
    await asyncio.to_thread(workspace.stop_daemon)
    await until_gone([daemon, *below])
    await until_true(lambda: descendants_of(daemon) == [])
