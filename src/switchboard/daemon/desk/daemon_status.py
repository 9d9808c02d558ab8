"""What a daemon shows of itself: who is connected, what runs, and for whom."""

import asyncio
import os
import time
from collections.abc import Iterator

from switchboard import __version__
from switchboard.children.child import Child
from switchboard.control.status import (
    BoardStatus,
    DaemonStatus,
    LoginStatus,
    RunStatus,
    SessionStatus,
)
from switchboard.core.faults import Fault
from switchboard.daemon.logs.recent_events import Tally
from switchboard.daemon.sessions.child_status import Whose, child_status, worktree_names
from switchboard.daemon.state import DaemonState
from switchboard.ipc.protocol import ABI
from switchkit.platform.facts import resident_bytes

_NO_TALLY = Tally()


async def daemon_status(state: DaemonState) -> DaemonStatus:
    """The daemon and everything in it."""
    found = tuple(all_children(state))
    # Side by side: a remote server that is not there takes a while not to answer.
    connected = await asyncio.gather(*(each.connection.is_connected() for each, _ in found))
    trees = await asyncio.to_thread(worktree_names, found)
    calls = state.shared_children.open_calls
    return DaemonStatus(
        pid=os.getpid(),
        version=__version__,
        abi=ABI,
        home=state.places.home,
        socket=state.places.socket,
        log=state.places.log,
        age_s=_age(state.started_at),
        memory_bytes=resident_bytes(os.getpid()) or 0,
        idle_s=state.idle_s,
        is_draining=state.is_draining,
        sessions=tuple(session_statuses(state)),
        calls_under_way=len(calls.under_way) if calls is not None else 0,
        boards=tuple(_boards(state)),
        children=tuple(
            child_status(
                state, child, whose, is_connected=is_connected, worktree=trees.get(child, "")
            )
            for (child, whose), is_connected in zip(found, connected, strict=True)
        ),
        runs=tuple(runs_under_way(state)),
        vault=await asyncio.to_thread(state.shared_children.vaults.state, state.places.home),
        logins=await _logins(state),
        notices=state.notices.statuses if state.notices is not None else (),
    )


def session_statuses(state: DaemonState) -> Iterator[SessionStatus]:
    for attachment in state.attachments:
        for session in attachment.sessions():
            tally = state.recent_events.tallies.get(session.id, _NO_TALLY)
            yield SessionStatus(
                id=session.id,
                client=session.client,
                protocol=session.protocol,
                workspace=session.workspace,
                pid=attachment.pid,
                age_s=_age(session.started_at),
                calls=tally.calls,
                under_way=tally.calls - tally.finished,
                failures=tally.failures,
                last_failure=tally.last_failure,
            )


def runs_under_way(state: DaemonState) -> Iterator[RunStatus]:
    runs = state.shared_children.open_runs
    for run in runs.under_way() if runs is not None else ():
        yield RunStatus(
            id=run.id,
            agent=run.spec.agent,
            engine=run.spec.engine,
            workspace=run.spec.workspace,
            state=run.state,
            age_s=_age(run.created_at),
            doing=run.doing,
            approval_id=run.approval_id,
        )


async def _logins(state: DaemonState) -> tuple[LoginStatus, ...]:
    """The logins that children use, and those that they lack."""
    found: list[LoginStatus] = []
    for held in state.shared_children.open_logins or ():
        if held.grant is None:
            if not held.is_wanted:
                continue
            try:
                # Somebody may have logged in since it was last used.
                await held.look()
            except Fault:
                # A vault that is locked, which is told by itself.
                continue
        if held.grant is None:
            found.append(
                LoginStatus(server=held.entry.name, account=held.entry.account, state="none")
            )
            continue
        # It is there, so what it needs is loaded.
        from switchboard.daemon.board.open_logins import login_status  # noqa: PLC0415

        found.append(login_status(held.entry.name, held.grant))
    return tuple(found)


def _boards(state: DaemonState) -> Iterator[BoardStatus]:
    for board in state.boards:
        settings = board.runtime.settings
        invalid = board.reloader.invalid
        yield BoardStatus(
            number=board.number,
            differs=state.boards.differences(board),
            workspace=settings.workspace,
            config=board.key.config,
            servers=len(settings.servers),
            tools=len(board.runtime.assembly.catalog.tools),
            sessions=board.attachments,
            age_s=_age(board.started_at),
            problem=str(invalid.problems[0]) if invalid is not None else "",
            left_out=board.runtime.assembly.left_out,
            untrusted=tuple(each.name for each in settings.untrusted),
        )


def all_children(state: DaemonState) -> Iterator[tuple[Child, Whose]]:
    """Every child, and whose it is."""
    for board in state.boards:
        for session_id, child in board.runtime.own_children():
            yield child, Whose(board.runtime.settings.workspace, session_id)
    for child, workspace, apart in state.shared_children.pools.children():
        yield child, Whose(workspace, apart=apart)


def _age(since: float) -> float:
    return round(max(0.0, time.time() - since), 3)
