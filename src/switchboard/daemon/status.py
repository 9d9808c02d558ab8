"""What a daemon can tell of itself and of everyone in it."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from switchboard import __version__
from switchboard.children.child import Child
from switchboard.control.status import BoardStatus, ChildStatus, DaemonStatus, SessionStatus
from switchboard.daemon.recent_events import Tally
from switchboard.ipc.words import ABI
from switchkit.platform.system import resident_bytes
from switchkit.processes import program_behind

if TYPE_CHECKING:
    from switchboard.daemon.server import Daemon

_NO_TALLY = Tally()


def status_of(daemon: "Daemon") -> DaemonStatus:
    """Everything at this moment."""
    return DaemonStatus(
        pid=os.getpid(),
        version=__version__,
        abi=ABI,
        home=daemon.places.home,
        socket=daemon.places.socket,
        log=daemon.places.log,
        age_s=_age(daemon.started_at),
        memory_bytes=resident_bytes(os.getpid()) or 0,
        idle_s=daemon.idle_s,
        is_draining=daemon.is_draining,
        sessions=tuple(_sessions(daemon)),
        boards=tuple(_boards(daemon)),
        children=tuple(_children(daemon)),
    )


def _sessions(daemon: "Daemon") -> Iterator[SessionStatus]:
    for attachment in daemon.attachments:
        session = attachment.session
        if session is None:
            continue
        tally = daemon.recent_events.tallies.get(session.id, _NO_TALLY)
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


def _boards(daemon: "Daemon") -> Iterator[BoardStatus]:
    for board in daemon.boards:
        runtime = board.runtime
        invalid = board.reloader.invalid
        yield BoardStatus(
            workspace=runtime.settings.workspace,
            config=board.key.config,
            servers=len(runtime.settings.servers),
            tools=len(runtime.assembly.catalog.tools),
            sessions=board.attachments,
            age_s=_age(board.started_at),
            problem=str(invalid.problems[0]) if invalid is not None else "",
        )


def _children(daemon: "Daemon") -> Iterator[ChildStatus]:
    for board in daemon.boards:
        for session_id, child in board.runtime.children():
            yield _child(child, board.runtime.settings.workspace, session_id)
    for child in daemon.shared_children.children():
        yield _child(child)


def _child(child: Child, workspace: str = "", session_id: str = "") -> ChildStatus:
    inside = program_behind(child.pid) if child.entry.sandbox_profile != "none" else 0
    pid = inside or child.pid
    fault = child.connection.last_fault
    return ChildStatus(
        name=child.entry.name,
        scope=child.entry.scope,
        workspace=workspace,
        session=session_id,
        transport=child.entry.transport,
        is_running=child.is_running,
        pid=pid,
        sandbox_pid=child.pid if inside else 0,
        age_s=round(child.connection.age_s, 3),
        memory_bytes=(resident_bytes(pid) or 0) if pid else 0,
        calls=child.calls,
        under_way=child.connection.in_flight,
        last_error=fault.message if fault is not None else "",
    )


def _age(since: float) -> float:
    return round(max(0.0, time.time() - since), 3)
