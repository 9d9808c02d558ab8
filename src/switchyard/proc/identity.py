"""Who a process is: its pid, when it started, and in which boot. Linux `/proc` only."""

import os
from functools import cache
from typing import NamedTuple

DEAD_STATES = "ZXx"
_STATE, _PARENT, _GROUP, _SESSION, _START = 0, 1, 2, 3, 19


class Vitals(NamedTuple):
    """One line of `/proc/<pid>/stat`, as far as it matters here."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    ticks: int

    @property
    def is_dead(self) -> bool:
        """A zombie has ended; only its parent has not looked yet."""
        return self.state in DEAD_STATES


def read_proc(path: str) -> bytes | None:
    """A small file of `/proc`, or nothing when the process is gone or not ours to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts: list[bytes] = []
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def vitals(pid: int) -> Vitals | None:
    """What the kernel says about this pid now, or nothing when there is no such process."""
    raw = read_proc(f"/proc/{pid}/stat")
    if not raw:
        return None
    fields = raw[raw.rindex(b")") + 2 :].split(None, _START + 1)
    return Vitals(
        pid,
        fields[_STATE].decode(),
        int(fields[_PARENT]),
        int(fields[_GROUP]),
        int(fields[_SESSION]),
        int(fields[_START]),
    )


@cache
def boot_id() -> str:
    """The identity of this boot: pids and ticks mean nothing across boots."""
    return (read_proc("/proc/sys/kernel/random/boot_id") or b"").decode().strip()


def pids() -> list[int]:
    """Every process there is."""
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def command_line(pid: int) -> str:
    """The command line as one text, for messages."""
    raw = read_proc(f"/proc/{pid}/cmdline") or b""
    return raw.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")


def environment(pid: int) -> dict[str, str]:
    """The variables the process was started with."""
    raw = read_proc(f"/proc/{pid}/environ") or b""
    made: dict[str, str] = {}
    for entry in raw.split(b"\0"):
        name, equals, value = os.fsdecode(entry).partition("=")
        if equals:
            made[name] = value
    return made
