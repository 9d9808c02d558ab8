"""Who runs what: the ancestors of a process, and whether one is still the one that it was.

Read from the kernel's own files, which only Linux has. Elsewhere nothing is known, and what is not
known is never taken for an answer.
"""

from pathlib import Path

from msgspec import Struct

_PROC = Path("/proc")
_MOST = 64
_PARENT, _BEGAN = 1, 19


class Process(Struct, frozen=True):
    """One process. Its number alone could come to mean another one."""

    pid: int
    began: int
    name: str


def process(pid: int) -> Process | None:
    """A process that runs now."""
    found = _read(pid)
    return None if found is None else found[0]


def is_gone(pid: int, began: int) -> bool:
    """Whether a process that was noted once runs no more. False where nobody can tell."""
    if pid <= 0 or began <= 0 or not (_PROC / "self" / "stat").exists():
        return False
    found = process(pid)
    return found is None or found.began != began


def namespace() -> str:
    """In which of the kernel's counts the numbers of processes stand here.

    A container that shares the home has a count of its own, in which ours mean nothing.
    """
    try:
        return str((_PROC / "self" / "ns" / "pid").readlink())
    except OSError:
        return ""


def ancestry(pid: int) -> tuple[Process, ...]:
    """A process and all above it, nearest first."""
    chain: list[Process] = []
    while pid > 0 and len(chain) < _MOST:
        found = _read(pid)
        if found is None:
            break
        chain.append(found[0])
        pid = found[1]
    return tuple(chain)


def _read(pid: int) -> tuple[Process, int] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    # The name stands in brackets and may hold brackets and blanks itself.
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    if len(fields) <= _BEGAN or fields[0] in {"Z", "X"}:
        return None
    name = head.partition("(")[2]
    return Process(pid, int(fields[_BEGAN]), name), int(fields[_PARENT])
