"""Sessions that came and went: the daemon holds nothing of them, whatever they did meanwhile."""

import asyncio
import gc
import weakref
from collections import Counter
from contextlib import suppress

import pytest

from support.daemons import daemon_here, shim
from support.mcp_stdio import talking_to, text_of
from support.processes import until_true
from support.workspace import Json, Workspace, child_command, server
from switchboard.daemon.state import DaemonState

SESSIONS = 6
PATIENCE_S = 60.0
# So long processes may take to end, and timers to ring that are for moments only.
ENDS_S = 30.0
# What is told later of the latest events and of what servers printed: so many of each, and no more.
# What measures the time of calls, until it has looked once more whether there are any.
BOUNDED = (
    *("switchboard.core.events.", "switchboard.core.text.log_lines."),
    *("switchboard.core.loop.timers.", "switchboard.pipeline.gates.deadline."),
)


async def visit(workspace: Workspace, number: int, **env: str) -> None:
    """A client of either era that calls, gives a call up, and goes; every third is killed."""
    async with talking_to(
        workspace.command("mcp"),
        cwd=workspace.root,
        env={**workspace.env, **env},
        patience=PATIENCE_S,
    ) as client:
        await (client.initialize() if number % 2 else client.discover())
        await client.tools()
        for suite in ("echo_suite", "own_suite"):
            answer = await client.call_subtool(suite, "echo", {"text": f"from {number}"})
            assert f"from {number}" in text_of(answer)
        stalled: Json = {"action": "call", "subtool": "stall", "args": {}}
        called = client.begin("tools/call", {"name": "echo_suite", "arguments": stalled})
        await client.notify("notifications/cancelled", {"requestId": called})
        await client.tools()
        if number % 3 == 0:
            client.process.kill()
        else:
            await client.close()


async def until_all_left(state: DaemonState) -> None:
    await until_true(lambda: not state.attachments, PATIENCE_S)


def held() -> Counter[str]:
    """How many objects there are of each of our classes, and of processes and maps."""
    gc.collect()
    names = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    ours = ("switchboard.", "switchkit.", "subprocess.", "mmap.")
    return Counter(name for name in names if name.startswith(ours))


async def check_nothing_stays(before: Counter[str]) -> None:
    """Nothing is there once more for each session that came since, once all has ended."""
    grown: dict[str, tuple[int, int]] = {}

    def is_nothing() -> bool:
        grown.clear()
        for name, count in held().items():
            if count >= before[name] + SESSIONS and not name.startswith(BOUNDED):
                grown[name] = (before[name], count)
        return not grown

    with suppress(TimeoutError):
        await until_true(is_nothing, ENDS_S)
    assert grown == {}


async def test_sessions_leave_nothing_in_the_daemon(workspace: Workspace) -> None:
    workspace.child("own", child_command("echo_child", "own"), scope="session")
    async with daemon_here(workspace) as state:

        async def come_and_go() -> None:
            await asyncio.gather(*(visit(workspace, each) for each in range(SESSIONS)))
            await until_all_left(state)

        await come_and_go()
        before = held()
        for each in ("second", "third"):
            # Neither do the boards of files as they were before.
            workspace.echo_child(description=f"the {each}")
            await come_and_go()
        await check_nothing_stays(before)


async def test_environments_leave_nothing_in_the_daemon(workspace: Workspace) -> None:
    """Each of them has a board and children of its own, for some time longer than its sessions."""
    entry = server(child_command("echo_child", "own"), secret_env={"COLOUR": "env:COLOUR"})
    workspace.mcp_json({"own": entry})
    async with daemon_here(workspace) as state:

        async def come_and_go(colour: str) -> None:
            for each in range(SESSIONS):
                await visit(workspace, each, COLOUR=f"{colour}-{each}")
            await until_all_left(state)
            assert len(list(state.boards)) == SESSIONS
            await state.boards.close_unused(0)

        await come_and_go("red")
        before = held()
        await come_and_go("blue")
        await check_nothing_stays(before)


async def test_the_last_session_is_let_go_of_too(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was told last that the daemon lives is not held until another comes."""
    monkeypatch.setattr("switchboard.daemon.server.BEAT_S", 0.01)
    async with daemon_here(workspace) as state, shim(workspace, patience=PATIENCE_S) as client:
        [attachment] = state.attachments
        left = weakref.ref(attachment)
        del attachment
        await client.tools()
        await client.close()
        await until_all_left(state)
        await until_true(lambda: gc.collect() >= 0 and left() is None, ENDS_S)
