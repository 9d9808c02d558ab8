"""Waiting for processes to end, ours or not."""

import os
from select import POLLIN, poll
from time import monotonic

from switchkit.platform import Unknown, Vitals
from switchkit.platform.processes import open_exit, vitals
from switchkit.processes import began, is_gone, is_running

# Where no event tells the end of a process it is looked for.
_LOOK_AGAIN_MS = 10


def wait_ended(processes: "list[Vitals]", until: float) -> None:
    """Wait until each of these has ended, or until the time of the monotonic clock."""
    watched: list[int] = []
    waiting = poll()
    try:
        left = 0
        for each in processes:
            try:
                handle = open_exit(each.pid)
            except ProcessLookupError:
                continue
            except Unknown:
                waiting.poll(_LOOK_AGAIN_MS)
                return
            watched.append(handle)
            now = vitals(each.pid)
            if now is not None and now.began == each.began and not now.is_dead:
                waiting.register(handle, POLLIN)
                left += 1
        while left and (rest_s := until - monotonic()) > 0:
            for handle, _ in waiting.poll(max(1, rest_s * 1000)):
                waiting.unregister(handle)
                left -= 1
    finally:
        for handle in watched:
            os.close(handle)


def watch_exit(pid: int) -> int:
    """A descriptor that can be read once the process has ended; somebody else reaps it.

    Where the system has no such thing a thread looks. Raises `ProcessLookupError`.
    """
    try:
        return open_exit(pid)
    except Unknown:
        since = began(pid)
    from threading import Thread  # noqa: PLC0415

    def look() -> None:
        pause = poll()
        while is_running(pid) and not is_gone(pid, since):
            pause.poll(_LOOK_AGAIN_MS)
        os.close(writing)

    reading, writing = os.pipe()
    Thread(target=look, daemon=True).start()
    return reading


def has_ended(pid: int, within_s: float) -> bool:
    """Whether a process that need not be our child ends in time. Blocks."""
    until = monotonic() + within_s
    waiting = poll()
    try:
        handle = open_exit(pid)
    except ProcessLookupError:
        return True
    except Unknown:
        since = began(pid)
        while is_running(pid) and not is_gone(pid, since):
            if monotonic() > until:
                return False
            waiting.poll(_LOOK_AGAIN_MS)
        return True
    try:
        waiting.register(handle, POLLIN)
        return bool(waiting.poll(within_s * 1000))
    finally:
        os.close(handle)
