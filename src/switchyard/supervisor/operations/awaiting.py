"""Waiting for services that start, and telling why one is not there."""

import time

from switchyard.control.protocol import PhaseEvent
from switchyard.core.fault import NOT_READY, YardFault
from switchyard.runtime.diagnosis import diagnose
from switchyard.runtime.log.hidden import hidden_patterns
from switchyard.runtime.log.lines import Sift, tail
from switchyard.runtime.service_row import ServiceRow
from switchyard.supervisor.service.service_thread import BAD, SETTLED, ServiceThread
from switchyard.supervisor.yard import Emit, Yard

_NOTICE_S = 2.0


def await_started(yard: Yard, threads: list[ServiceThread], emit: Emit) -> None:
    """Wait until their processes are there."""
    with yard.context.changed:
        until = time.monotonic() + 2.0
        while any(one.phase == "waiting" and not one.has_ended for one in threads):
            if time.monotonic() > until:
                break
            yard.context.changed.wait(0.05)
    emit({"event": "started"})


def await_ready(
    yard: Yard, threads: list[ServiceThread], emit: Emit, timeout_s: float
) -> list[ServiceRow]:
    """Wait until all are ready, or done; their state. Raises `YardFault` when one is not."""
    until = time.monotonic() + timeout_s
    while True:
        ready = _await(yard, threads, emit, until)
        rows = yard.rows(one.launch.key for one in threads)
        if not _ended_since(yard, ready, rows):
            return rows


def _ended_since(yard: Yard, ready: list[ServiceThread], rows: list[ServiceRow]) -> bool:
    """Whether one has ended that was ready a moment ago, as a program that becomes a daemon does.

    Returns once its thread knows it too.
    """
    gone = {(one["service"], one.get("branch")) for one in rows if one["status"] != "running"}
    ended = [one for one in ready if _name(one) in gone]
    until = time.monotonic() + _NOTICE_S
    with yard.context.changed:
        while any(one.phase == "ready" for one in ended):
            if time.monotonic() > until:
                return False
            yard.context.changed.wait(0.05)
    return bool(ended)


def _name(thread: ServiceThread) -> tuple[str, str]:
    return thread.launch.service.name, thread.launch.target.branch


def _await(
    yard: Yard, threads: list[ServiceThread], emit: Emit, until: float
) -> list[ServiceThread]:
    """Wait until all are ready, or done; those that are ready, in the moment that all were."""
    told: dict[tuple[str, str], str] = {}
    # `emit` writes to a socket under this lock. A caller that does not read would block all service
    # threads only when its socket is full, and a few phases never fill one.
    with yard.context.changed:
        while True:
            news = [one for one in threads if told.get(one.launch.key) != one.phase]
            for one in news:
                told[one.launch.key] = one.phase
                emit(_event(one))
            waiting = [one for one in threads if one.phase not in SETTLED]
            left = until - time.monotonic()
            if not waiting or left <= 0:
                break
            yard.context.changed.wait(left)
        ready = [one for one in threads if one.phase == "ready"]
    failed = [one for one in threads if one.phase in BAD or one.phase not in SETTLED]
    if failed:
        raise _not_up(yard, failed)
    return ready


def _event(thread: ServiceThread) -> PhaseEvent:
    made: PhaseEvent = {
        "event": "phase",
        "service": thread.launch.service.name,
        "phase": thread.phase,
        "waits_for": list(thread.launch.service.depends_on),
    }
    if thread.run:
        made["log"], made["log_start"] = thread.run.log, thread.run.log_start
    return made


def _not_up(yard: Yard, failed: list[ServiceThread]) -> YardFault:
    culprit = next((one for one in failed if one.phase != "blocked"), failed[0])
    late = all(one.phase in ("late", "blocked", "starting", "waiting") for one in failed)
    start = culprit.run.log_start if culprit.run else 0
    hidden = hidden_patterns(yard.scope.places)
    lines = [] if hidden is None else tail(culprit.launch.log, 20, Sift(redact=hidden), start=start)
    name = culprit.launch.service.name
    told = culprit.reason or culprit.phase
    cause = diagnose(culprit.run, lines) if culprit.run else None
    why = f": {cause}" if cause else ""
    return YardFault(
        "not-ready" if late else "service-failed",
        f"`{name}` is {'not ready in time' if late else culprit.phase} ({told}){why}",
        hint=f"switchyard logs {name}",
        exit_code=NOT_READY if late else 1,
        details={
            "service": name,
            "log_path": str(culprit.launch.log),
            "log_tail": lines,
            "cause": cause,
            "services": yard.rows(one.launch.key for one in failed),
        },
    )
