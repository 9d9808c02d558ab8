"""Which processes are alive, who their children are, and waiting until they are gone (Linux)."""

import asyncio
import os
import select
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from switchkit.processes import began

PROC = Path("/proc")
PATIENCE = 60.0
_GONE = "ZX"


def alive(pid: int) -> bool:
    """Say whether the process runs; one that has ended and waits to be reaped does not."""
    stat = _stat(pid)
    return stat is not None and stat[0] not in _GONE


def children_of(pid: int) -> list[int]:
    return [other for other in _running() if (stat := _stat(other)) and int(stat[1]) == pid]


def program_below(keeper: int) -> int:
    """Give what a keeper keeps: its first child, before whom it may have got no other."""
    return min(children_of(keeper), key=began)


def descendants_of(pid: int) -> list[int]:
    """Give the children, their children and so on, as far as they are still linked to it."""
    found: list[int] = []
    for child in children_of(pid):
        found += [child, *descendants_of(child)]
    return found


def group_of(pgid: int) -> list[int]:
    """Give the running members of a process group."""
    return [other for other in _running() if (stat := _stat(other)) and int(stat[2]) == pgid]


def mentioning(marker: str) -> list[int]:
    """Give running processes whose arguments, environment or folder contain the marker.

    The folder of a test's workspace makes a good marker: it finds what outlived its parents too.
    """
    wanted = marker.encode()
    return [pid for pid in _running() if pid != os.getpid() and _mentions(pid, wanted)]


def describe(pids: Iterable[int]) -> list[str]:
    """Give each process as text for a failing assertion."""
    lines = {pid: b" ".join(_words(pid, "cmdline").split(b"\0")) for pid in pids}
    return [f"{pid}: {line.decode('utf-8', 'replace')}" for pid, line in lines.items()]


def wait_until_gone(pids: Iterable[int], patience: float = PATIENCE) -> None:
    """Wait for processes to end, woken by the kernel. Raises AssertionError if some stay."""
    deadline = time.monotonic() + patience
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            left = max(0.0, deadline - time.monotonic())
            assert poll.poll(left * 1000), f"still running: {describe([pid])}"
        finally:
            os.close(handle)


async def until_gone(pids: Iterable[int], patience: float = PATIENCE) -> None:
    """Wait as `wait_until_gone` does, without holding up the event loop."""
    await asyncio.to_thread(wait_until_gone, list(pids), patience)


def wait_until_none_mention(marker: str, patience: float = PATIENCE) -> None:
    """Wait until no running process mentions the marker any more."""
    deadline = time.monotonic() + patience
    # Each time those that are there now: what another test runs meanwhile comes and goes.
    while left := mentioning(marker):
        wait_until_gone(left, max(deadline - time.monotonic(), 0.01))


def wait_until_true(fact: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait until a fact holds."""
    deadline = time.monotonic() + patience
    while not fact():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


async def until_true(fact: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for a fact that sends no event, by looking at it again and again."""
    async with asyncio.timeout(patience):
        while not fact():  # noqa: ASYNC110 - what the kernel knows sends no event to wait for
            await asyncio.sleep(0.01)


def _running() -> list[int]:
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if alive(pid)]


def _stat(pid: int) -> list[str] | None:
    """Give state, parent, group and so on; what stands before them may hold blanks and brackets."""
    text = _words(pid, "stat").decode("utf-8", "replace")
    return text.rpartition(")")[2].split() or None


def _mentions(pid: int, wanted: bytes) -> bool:
    if wanted in _words(pid, "cmdline") or wanted in _words(pid, "environ"):
        return True
    try:
        return wanted in os.fsencode((PROC / str(pid) / "cwd").readlink())
    except OSError:
        return False


def _words(pid: int, name: str) -> bytes:
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
