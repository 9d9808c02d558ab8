"""Who listens on a port, asked from the kernel's socket tables."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from switchyard.proc.identity import command_line, pids, read_proc

_LISTEN = b"0A"
_LOCAL, _CODE, _INODE = 1, 3, 9


class PortHolder(NamedTuple):
    """A process with a listening socket on a port."""

    pid: int
    command: str


def listening() -> dict[int, set[int]]:
    """The socket inodes that listen, by port, on both families."""
    made: dict[int, set[int]] = {}
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        raw = _whole(path)
        for line in raw.splitlines()[1:]:
            fields = line.split(None, _INODE + 1)
            if len(fields) > _INODE and fields[_CODE] == _LISTEN:
                port = int(fields[_LOCAL].rpartition(b":")[2], 16)
                made.setdefault(port, set()).add(int(fields[_INODE]))
    return made


def _whole(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts: list[bytes] = []
        while part := os.read(descriptor, 1 << 18):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def holds(pid: int, inodes: set[int]) -> bool:
    """Whether the process has one of these sockets open."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    folder = f"/proc/{pid}/fd"
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except OSError:
        return False
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}") in wanted:  # noqa: PTH115 - asked thousands of times
                return True
        except OSError:
            continue
    return False


def holder(inodes: set[int], among: Iterable[int] | None = None) -> PortHolder | None:
    """A process that has one of these sockets; looked for in `among`, or everywhere."""
    for pid in pids() if among is None else among:
        if holds(pid, inodes):
            return PortHolder(pid, command_line(pid))
    return None


def is_readable(pid: int) -> bool:
    """Whether the descriptors of the process can be seen at all by this user."""
    return os.access(f"/proc/{pid}/fd", os.R_OK) and read_proc(f"/proc/{pid}/stat") is not None
