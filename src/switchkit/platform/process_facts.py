"""What the system says of a process beside its vitals: its age, and what it holds open."""

import os
import sys
import time
from collections.abc import Iterable

from switchkit.platform import Unknown
from switchkit.platform.ports import holds, listening

_PROC = "/proc"
# Devices and what the kernel makes up are nothing that anybody misses.
_MADE_UP = ("/dev/", "/proc/", "/sys/", "/memfd:")
_GONE = " (deleted)"


def age_s(began: int) -> float | None:
    """For how many seconds a process has run that began then; None where that is not known."""
    if sys.platform != "linux":
        return None
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    return max(0.0, now - began / os.sysconf("SC_CLK_TCK"))


def open_paths(pid: int) -> set[str]:
    """The files that a process has open, as far as it shows them."""
    folder = f"{_PROC}/{pid}/fd"
    found: set[str] = set()
    try:
        numbers = os.listdir(folder)
    except OSError:
        return found
    for number in numbers:
        try:
            path = os.readlink(f"{folder}/{number}")
        except OSError:
            continue
        if path.startswith("/") and not path.startswith(_MADE_UP) and not path.endswith(_GONE):
            found.add(path)
    return found


def open_ports(pids: Iterable[int]) -> list[int]:
    """The ports that one of these processes listens on."""
    everyone = [*pids]
    try:
        table = listening()
    except Unknown:
        return []
    return sorted(
        port for port, inodes in table.items() if any(holds(pid, inodes) for pid in everyone)
    )
