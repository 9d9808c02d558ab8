"""Stopping ends everything that a process started, whatever it does against it."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from procs.homes import PATIENCE, ended, first_line, has_looked, python, started
from support.processes import alive, children_of, mentioning, until_gone, until_true
from support.requirements import requirement
from switchboard.procs.spawn import spawn
from switchboard.procs.stop import stop
from switchkit.reaper_client import Reaper

POLITE = "import os; print(os.getpid(), flush=True); input()"

# A grandchild whose parent has gone, as daemons make it; it holds stdout and ignores SIGTERM.
DOUBLE_FORK = """
import os, signal, sys, time
reading, writing = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(writing, str(os.getpid()).encode())
        time.sleep(600)
    os._exit(0)
os.wait()
print(int(os.read(reading, 20)), flush=True)
sys.stdin.read()
"""

# It ignores SIGTERM and the end of its input, and so does its child in another process group.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    time.sleep(600)
print(child, flush=True)
time.sleep(600)
"""

# Children with sessions of their own, as `detached: true` makes them in Node; the younger one is
# born while the leader is asked to end. They ignore SIGTERM.
DETACHED = """
import os, signal, sys, time
def start():
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
        time.sleep(600)
    return child
print([start(), os.getpid()], flush=True)
sys.stdin.read()
if sys.argv[1] == "more":
    start()
    time.sleep(600)
"""


@requirement("S2.52")
async def test_a_polite_process_ends_when_its_input_does(tmp_path: Path) -> None:
    async with started(python(POLITE, cwd=tmp_path)) as running:
        await first_line(running)
        # `input()` at the end of a file is an error of Python's: it ended by itself.
        assert await ended(running) == 1
    assert not alive(running.pid)


async def test_a_grandchild_that_outlived_its_parent_ends_too(tmp_path: Path) -> None:
    async with started(python(DOUBLE_FORK, cwd=tmp_path)) as running:
        grandchild = await first_line(running)
        assert alive(grandchild)
        await ended(running)
        await until_gone([running.pid, grandchild])


async def test_a_family_that_ignores_requests_to_end_is_made_to(tmp_path: Path) -> None:
    async with started(python(STUBBORN, cwd=tmp_path)) as running:
        child = await first_line(running)
        began = time.monotonic()
        assert await ended(running) == -signal.SIGKILL
        assert time.monotonic() - began < 6
        await until_gone([running.pid, child])


@pytest.mark.parametrize("manner", ["", "more"])
async def test_descendants_with_sessions_of_their_own_end_too(manner: str, tmp_path: Path) -> None:
    async with started(python(DETACHED, manner, cwd=tmp_path)) as running:
        await first_line(running)
        await until_true(lambda: len(_all_of(tmp_path)) == 3)
        await ended(running)
        assert _all_of(tmp_path) == []


async def test_what_a_leader_that_crashed_left_behind_is_ended_by_the_reaper(
    tmp_path: Path,
) -> None:
    before = children_of(os.getpid())
    async with started(python(DETACHED, "", cwd=tmp_path)) as running:
        await first_line(running)
        [reaper] = {*children_of(os.getpid())} - {*before, running.pid}
        await until_true(lambda: len(_all_of(tmp_path)) == 3)
        await has_looked(reaper)
        os.kill(running.pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE):
            await asyncio.shield(running.exited)
        assert len(_all_of(tmp_path)) == 2
        await ended(running)
        await until_true(lambda: _all_of(tmp_path) == [])


async def test_a_stop_whose_caller_is_cancelled_is_done_all_the_same(tmp_path: Path) -> None:
    async with started(python(STUBBORN, cwd=tmp_path)) as running:
        child = await first_line(running)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await stop(running, close_input=running.stdin.close)
        await until_gone([running.pid, child])


async def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    async with started(python(POLITE, cwd=tmp_path)) as running:
        await first_line(running)
        assert await ended(running) == await ended(running)


async def test_a_process_that_ended_alone_is_reaped_with_its_status(tmp_path: Path) -> None:
    async with started(python("raise SystemExit(7)", cwd=tmp_path)) as running:
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.shield(running.exited) == 7
        await until_true(lambda: not Path(f"/proc/{running.pid}").exists())


async def test_a_start_whose_caller_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    marker = f"switchboard-unwanted-{os.getpid()}"
    spec = python("input()", marker, cwd=tmp_path)
    task = asyncio.ensure_future(spawn(spec, reaper=Reaper(), timeout_s=PATIENCE))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # What a thread has begun to start is started by then.
    await asyncio.get_running_loop().shutdown_default_executor()
    await until_true(lambda: not mentioning(marker))


def _all_of(folder: Path) -> list[int]:
    """Give the processes that run in a folder."""
    return [pid for pid in mentioning(str(folder)) if alive(pid)]
