"""What a process that lives for weeks must not do: spin, grow, or lose its own housekeeping."""

import asyncio
import os
import resource
import time
from pathlib import Path

import pytest

from support.daemons import daemon_pid, dial, log_text, mode_of, open_files, shim, status
from support.processes import until_gone, until_true
from support.workspace import Workspace, child_command, server
from switchboard.core.bus import EventBus
from switchboard.daemon.board.registry import BoardRegistry
from switchboard.daemon.board.sharing.shared_children import SharedChildren
from switchboard.daemon.hello import Hello
from switchboard.daemon.logs.log import Log
from switchboard.daemon.logs.log_sink import LogSink
from switchboard.daemon.logs.recent_events import RecentEvents
from switchboard.daemon.server import Daemon
from switchboard.daemon.state import DaemonState
from switchboard.ipc.paths import MAX_LOG_BYTES
from switchboard.ipc.protocol import ABI

TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of_work(pid: int) -> float:
    """The time that a process has spent on a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def soft_limit(pid: int) -> int:
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]


async def test_a_daemon_without_files_to_open_waits_instead_of_spinning(
    workspace: Workspace,
) -> None:
    async with shim(workspace) as client:
        pid = daemon_pid(workspace)
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files(pid) + 3, limits[1]))
        crowd = [dial(workspace) for _ in range(12)]
        await until_true(lambda: "clients have to wait" in log_text(workspace))
        before, began = seconds_of_work(pid), time.monotonic()
        # Who is here is served, for as long as it takes to see whether it spins.
        while time.monotonic() - began < 1.5:
            assert set(await client.tools()) == {"echo_suite"}
            await asyncio.sleep(0.1)
        assert seconds_of_work(pid) - before < 0.4
        for stranger in crowd:
            stranger.close()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        async with shim(workspace) as late:
            assert late.stderr == ""
            assert set(await late.tools()) == {"echo_suite"}
        assert log_text(workspace).count("clients have to wait: Too many open files") == 1


async def test_the_daemons_own_limit_reaches_no_child(workspace: Workspace) -> None:
    ours, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard > 1024, "this machine allows too few files to tell"
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        async with shim(workspace) as client:
            await client.call_subtool("echo_suite", "echo", {"text": "hi"})
            (child,) = (status(workspace) or {})["children"]
            assert soft_limit(daemon_pid(workspace)) > 1024
            assert soft_limit(child["pid"]) == 1024
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (ours, hard))


async def test_a_log_is_begun_anew_while_the_daemon_runs(workspace: Workspace) -> None:
    log = Path(workspace.daemon_places.log)
    fill(log, MAX_LOG_BYTES)
    async with shim(workspace) as client:
        pid = daemon_pid(workspace)
        await until_true(lambda: log.with_name("daemon.log.1").exists())
        await until_true(lambda: log.exists() and log.stat().st_size < MAX_LOG_BYTES)
        assert await client.close() == 0
    async with shim(workspace):
        # What happens now is written to the new one.
        await until_true(lambda: "SessionOpened" in log_text(workspace))
        assert mode_of(str(log)) == 0o600
        assert daemon_pid(workspace) == pid


def fill(log: Path, size: int) -> None:
    log.parent.mkdir(mode=0o700, parents=True)
    log.write_bytes(b"x" * (size - 1) + b"\n")


async def test_trouble_with_one_board_does_not_keep_a_daemon_for_ever(
    workspace: Workspace,
    capfd: pytest.CaptureFixture[str],
) -> None:
    state = DaemonState(workspace.daemon_places, log=Log(LogSink(2)), idle_s=2.5)

    async def fail() -> None:
        raise RuntimeError("this board does not want to close")

    # What it is asked to do every second fails from the first time on.
    state.boards.close_unused = fail  # type: ignore[method-assign,assignment]
    async with asyncio.timeout(20):
        assert await Daemon(state).run() == 0
    assert "this board does not want to close" in capfd.readouterr().err


async def nothing(_names: object) -> dict[str, str]:
    return {}


async def test_environments_that_nobody_has_any_more_are_forgotten(workspace: Workspace) -> None:
    entry = server(child_command("echo_child", "common"), scope="user")
    workspace.mcp_json({"common": entry}, scope="home")
    shared_children = SharedChildren(EventBus())
    boards = BoardRegistry(RecentEvents(), shared_children)
    pids: list[int] = []
    for number in range(5):
        hello = Hello(
            magic="switchboard",
            abi=ABI,
            kind="client",
            home=str(workspace.home),
            cwd=str(workspace.root),
            environ={**workspace.env, "LANG": f"number {number}"},
        )
        board = await boards.board_for(hello, nothing)
        board.runtime.warm()
        for child, _, _ in shared_children.pools.children():
            await child.tools()
            pids.append(child.pid)
    # Of each environment, one pool for the folder and one for all folders.
    assert len(shared_children.pools) == 10
    await boards.close_unused(rest_s=0)
    async with asyncio.timeout(20):
        while len(shared_children.pools):
            await asyncio.sleep(0.01)
            await boards.close_unused(rest_s=0)
    await until_gone(pids)
    await boards.aclose()
    await shared_children.aclose()
