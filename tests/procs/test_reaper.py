"""However we end, the reaper ends what we started, and nobody else's processes."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from procs.homes import has_looked, ignores
from support.processes import alive, children_of, until_gone, until_true
from support.requirements import requirement
from support.workspace import CHECKOUT
from switchboard.procs.spawn import SpawnSpec, spawn
from switchkit.processes import began
from switchkit.reaper_client import Reaper

# Starts a family through `spawn`, tells who is in it, and waits to be killed.
OWNER = """
import asyncio, json, sys
from switchboard.procs.spawn import SpawnSpec, spawn
from switchkit.reaper_client import Reaper
async def main():
    spec = SpawnSpec(argv=(sys.executable, "-I", "-S", "-c", sys.argv[1]), cwd="/", env={})
    running = await spawn(spec, reaper=Reaper(), timeout_s=10)
    child = int(await asyncio.to_thread(running.stdout.readline))
    print(json.dumps([running.pid, child]), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(600)
time.sleep(600)
"""
# A child with a session of its own, and a leader that ends with its input and leaves it behind.
DETACHED = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    time.sleep(600)
sys.stdin.read()
"""
SLEEP = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)")


@requirement("S2.52")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("program", [STUBBORN, DETACHED], ids=["stubborn", "detached"])
async def test_when_our_process_is_ended_by_any_signal_no_child_outlives_it(
    number: int, program: str
) -> None:
    async with _owner(program) as (owner, family, keeper):
        await has_looked(keeper)
        owner.send_signal(number)
        await owner.wait()
        await until_gone([*family, keeper])


async def test_whoever_says_nothing_for_too_long_loses_what_it_runs_at_once() -> None:
    """As one that was stopped does: it cannot see to it itself."""
    reaper = Reaper()
    reaper.silence_s, reaper.ends_in_silence = 1.5, True
    loop = asyncio.get_running_loop()
    spec = SpawnSpec(argv=(sys.executable, "-I", "-S", "-c", STUBBORN), cwd="/", env={})
    running = await spawn(spec, reaper=reaper, timeout_s=10)
    try:
        child = int(await asyncio.to_thread(running.stdout.readline))
        until = loop.time() + 1.3 * reaper.silence_s
        while loop.time() < until:
            # A sign of life every now and then is enough, however often nothing else is said.
            reaper.pulse()
            assert alive(child)
            await asyncio.sleep(0.1)
        silent_since = loop.time()
        await until_gone([running.pid, child])
        # Without the second that others are given to end by themselves: another may begin.
        assert loop.time() - silent_since < reaper.silence_s + 1.0
    finally:
        await running.kill_rest()
        running.stdin.close()
        running.stdout.close()
        reaper.close()


async def test_a_reaper_that_was_killed_is_replaced_and_knows_what_its_forerunner_did() -> None:
    async with _owner(STUBBORN) as (owner, family, keeper):
        os.kill(keeper, signal.SIGKILL)
        await until_true(lambda: bool({*children_of(owner.pid)} - {*family, keeper}))
        [other] = {*children_of(owner.pid)} - {*family, keeper}
        owner.kill()
        await owner.wait()
        await until_gone([*family, other])


async def test_the_reaper_itself_cannot_be_ended_from_a_terminal() -> None:
    victim, keeper = await _sleeper(), await _keeper()
    assert keeper.stdin is not None
    keeper.stdin.write(f"+{victim.pid} {began(victim.pid)}\n".encode())
    await keeper.stdin.drain()
    # It ignores signals as soon as its main part runs, and then it reads.
    await until_true(lambda: ignores(keeper.pid, signal.SIGTERM))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        keeper.send_signal(number)
    assert alive(victim.pid)
    keeper.stdin.close()
    async with asyncio.timeout(15):
        assert await keeper.wait() == 0
        assert await victim.wait() == -signal.SIGTERM


async def test_the_reaper_forgets_what_has_ended_and_reads_lines_in_pieces() -> None:
    kept, released = [await _sleeper() for _ in range(2)]
    keeper = await _keeper()
    assert keeper.stdin is not None
    kept_line = f"+{kept.pid} {began(kept.pid)}\n"
    released.kill()
    await released.wait()
    for piece in (f"+{released.pid} 1\n{kept_line[:3]}", f"{kept_line[3:]}-{released.pid}\n-44\n"):
        keeper.stdin.write(piece.encode())
        await keeper.stdin.drain()
    assert alive(kept.pid)
    keeper.stdin.close()
    async with asyncio.timeout(15):
        assert await keeper.wait() == 0
        assert await kept.wait() == -signal.SIGTERM


@pytest.mark.parametrize("word", ["", "-"])
async def test_a_number_that_belongs_to_somebody_else_by_now_is_left_alone(word: str) -> None:
    stranger, keeper = await _sleeper(), await _keeper()
    assert keeper.stdin is not None
    try:
        keeper.stdin.write(f"+{stranger.pid} {began(stranger.pid) - 1}\n".encode())
        keeper.stdin.write(f"-{stranger.pid}\n".encode() if word else b"")
        keeper.stdin.close()
        async with asyncio.timeout(15):
            assert await keeper.wait() == 0
        assert alive(stranger.pid)
    finally:
        stranger.kill()
        await stranger.wait()


@asynccontextmanager
async def _owner(program: str) -> AsyncGenerator[tuple[Process, list[int], int]]:
    """Give a process that owns a family, the family, and the reaper."""
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OWNER,
        program,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": str(CHECKOUT / "src")},
    )
    assert owner.stdout is not None
    async with asyncio.timeout(15):
        family = json.loads(await owner.stdout.readline())
    [keeper] = [pid for pid in children_of(owner.pid) if pid not in family]
    try:
        yield owner, family, keeper
    finally:
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if owner.returncode is None:
            owner.kill()
        await owner.wait()


async def _keeper() -> Process:
    command = f"import sys; sys.path.insert(0, {str(CHECKOUT / 'src')!r})\n"
    command += "from switchkit.reaper import main; main()"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", command, stdin=subprocess.PIPE
    )


async def _sleeper() -> Process:
    return await asyncio.create_subprocess_exec(*SLEEP, start_new_session=True)
