"""Stopping a run: the whole family is asked to end, then killed, until none is left."""

import signal
import time
from typing import NamedTuple

from switchyard.runtime.family import Leader, boot_id
from switchyard.runtime.ports import is_bindable

KILL_WAIT_S = 5.0
PORT_WAIT_S = 2.0


class Stopped(NamedTuple):
    """How a run ended. `left` are processes that even SIGKILL did not end in time."""

    forced: bool
    left: tuple[int, ...]
    port_free: bool


def stop_family(
    leader: Leader,
    *,
    number: signal.Signals = signal.SIGTERM,
    grace_s: float = 10.0,
    port: int | None = None,
) -> Stopped:
    """End every process of the run and wait until its port is free. Never signals strangers."""
    if leader.boot_id != boot_id():
        return Stopped(False, (), _wait_port(port))
    forced, left = leader.family().stop(number, grace_s, KILL_WAIT_S)
    return Stopped(forced, tuple(one.pid for one in left), _wait_port(port))


def _wait_port(port: int | None) -> bool:
    if port is None:
        return True
    until, pause = time.monotonic() + PORT_WAIT_S, 0.002
    while not is_bindable(port, strict=False):
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return True
