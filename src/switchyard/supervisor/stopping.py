"""Stopping a run: the whole family is asked to end, then killed, until none is left."""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

from switchkit.platform import Unknown
from switchkit.platform.ports import PortHolder, holder, is_free, listening
from switchyard.runtime.family import Leader, boot_id, members
from switchyard.runtime.launch import ServiceLaunch
from switchyard.runtime.runs import RunRecord
from switchyard.supervisor.children import Children

KILL_WAIT_S = 5.0
PORT_WAIT_S = 2.0


class Stopped(NamedTuple):
    """How a run ended. `left` are processes that even SIGKILL did not end in time.

    `owner` is who holds the port even so: not a process of the run.
    """

    forced: bool
    left: tuple[int, ...]
    port_free: bool
    owner: PortHolder | None = None


def stop_family(
    leader: Leader,
    *,
    number: signal.Signals = signal.SIGTERM,
    grace_s: float = 10.0,
    port: int | None = None,
) -> Stopped:
    """End every process of the run and wait until its port is free. Never signals strangers."""
    if leader.boot_id != boot_id():
        return _stopped(False, (), port)
    forced, left = leader.family().stop(number, grace_s, KILL_WAIT_S)
    return _stopped(forced, tuple(one.pid for one in left), port)


def _stopped(forced: bool, left: tuple[int, ...], port: int | None) -> Stopped:
    if _wait_port(port):
        return Stopped(forced, left, True)
    try:
        owner = holder(listening().get(port or 0, set()))
    except Unknown:
        owner = None
    return Stopped(forced, left, False, owner)


def _wait_port(port: int | None) -> bool:
    if port is None:
        return True
    until, pause = time.monotonic() + PORT_WAIT_S, 0.002
    while not is_free(port, strict=False):
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return True


def end_run(run: RunRecord, children: Children, launch: ServiceLaunch | None = None) -> Stopped:
    """Stop a run the way it asked to be stopped."""
    if run.stop_command and members(run.leader):
        with contextlib.suppress(OSError):
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            try:
                env = dict(launch.env) if launch else dict(os.environ)
                pid = children.spawn(run.stop_command, cwd=Path(run.worktree), env=env, output=null)
            finally:
                os.close(null)
            children.wait(pid, run.stop_grace_s)
    return stop_family(
        run.leader,
        number=signal.Signals(run.stop_signal),
        grace_s=run.stop_grace_s,
        port=run.port,
    )
