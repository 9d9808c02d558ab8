"""Keeps daemons of a home away while its state is moved."""

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from switchboard.control.client import DaemonClient, draining_daemons, running_daemon
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.paths import places_from
from switchkit.files import make_private_folder
from switchkit.locks import open_lock, try_lock

# Whoever only looks whether a daemon is there holds its lock for a moment.
_PATIENCE_S = 1.0
_LOOK_AGAIN_S = 0.01


@contextmanager
def without_daemon(home: str) -> Generator[None]:
    """No daemon of this home runs, or starts, while this lasts. Raises a fault if one runs."""
    places = places_from({}, home)
    for folder in places.folders:
        make_private_folder(folder)
    lock = open_lock(places.life_lock)
    try:
        pause = threading.Event()
        until = time.monotonic() + _PATIENCE_S
        while not try_lock(lock):
            found = running_daemon(places)
            if found is not None or time.monotonic() > until:
                raise _running(found)
            pause.wait(_LOOK_AGAIN_S)
        draining = draining_daemons(places)
        for other in draining[1:]:
            other.close()
        if draining:
            raise _running(draining[0])
        yield
    finally:
        os.close(lock)


def _running(daemon: DaemonClient | None) -> Fault:
    who = ""
    if daemon is not None:
        who = f" (process {daemon.pid})"
        daemon.close()
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "daemon-running",
        f"a daemon of this home is running{who} and may change its state, so nothing was moved",
        hint="switchboard daemon stop, then the same again",
    )
