"""What a daemon can tell of itself and of everyone in it."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from switchboard import __version__
from switchboard.children.child import Child
from switchboard.control.status import BoardStatus, ChildStatus, DaemonStatus, SessionStatus
from switchboard.daemon.ledger import Tally
from switchboard.ipc.words import ABI
from switchkit.platform.system import resident_bytes
from switchkit.processes import program_behind

if TYPE_CHECKING:
    from switchboard.daemon.house import House

_NO_TALLY = Tally()


def status_of(house: "House") -> DaemonStatus:
    """Everything at this moment."""
    return DaemonStatus(
        pid=os.getpid(),
        version=__version__,
        abi=ABI,
        home=house.places.home,
        socket=house.places.socket,
        log=house.places.log,
        age_s=_age(house.started_at),
        memory_bytes=resident_bytes(os.getpid()) or 0,
        idle_s=house.idle_s,
        is_draining=house.is_draining,
        sessions=tuple(_sessions(house)),
        boards=tuple(_boards(house)),
        children=tuple(_children(house)),
    )


def _sessions(house: "House") -> Iterator[SessionStatus]:
    for guest in house.guests:
        session = guest.session
        if session is None:
            continue
        tally = house.ledger.tallies.get(session.id, _NO_TALLY)
        yield SessionStatus(
            id=session.id,
            client=session.client,
            protocol=session.protocol,
            workspace=session.workspace,
            pid=guest.pid,
            age_s=_age(session.started_at),
            calls=tally.calls,
            under_way=tally.calls - tally.finished,
            failures=tally.failures,
            last_failure=tally.last_failure,
        )


def _boards(house: "House") -> Iterator[BoardStatus]:
    for hosted in house.hosting:
        runtime = hosted.runtime
        invalid = hosted.reloader.invalid
        yield BoardStatus(
            workspace=runtime.settings.workspace,
            config=hosted.key.config,
            servers=len(runtime.settings.servers),
            tools=len(runtime.assembly.catalog.tools),
            sessions=hosted.guests,
            age_s=_age(hosted.started_at),
            problem=str(invalid.problems[0]) if invalid is not None else "",
        )


def _children(house: "House") -> Iterator[ChildStatus]:
    for hosted in house.hosting:
        for session_id, child in hosted.runtime.children():
            yield _child(child, hosted.runtime.settings.workspace, session_id)
    for child in house.commons.children():
        yield _child(child)


def _child(child: Child, workspace: str = "", session_id: str = "") -> ChildStatus:
    inside = program_behind(child.pid) if child.entry.sandbox_profile != "none" else 0
    pid = inside or child.pid
    return ChildStatus(
        name=child.entry.name,
        scope=child.entry.scope,
        workspace=workspace,
        session=session_id,
        transport=child.entry.transport,
        is_running=child.is_running,
        pid=pid,
        sandbox_pid=child.pid if inside else 0,
        age_s=round(child.age_s, 3),
        memory_bytes=(resident_bytes(pid) or 0) if pid else 0,
        calls=child.calls,
        under_way=child.in_flight,
        last_error=child.last_fault.message if child.last_fault is not None else "",
    )


def _age(since: float) -> float:
    return round(max(0.0, time.time() - since), 3)
