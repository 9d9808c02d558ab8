"""However it ends, nothing of a sandbox is left, and what is inside is asked first."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest

from sandbox.den import Den, python
from support.processes import (
    descendants_of,
    mentioning,
    until_gone,
    wait_until_gone,
    wait_until_none_mention,
)
from support.requirements import attack, requirement
from switchboard.core.faults import Fault
from switchboard.procs.spawn import Running
from switchboard.procs.stop import stop

PATIENCE = 20.0

POLITE = """
import os, signal, sys
def asked(*_):
    open("asked", "w").write("yes")
    os._exit(7)
signal.signal(signal.SIGTERM, asked)
print("up", flush=True)
while True:
    signal.pause()
"""

# A daemon, as daemons are made: forked twice, in a session of its own, deaf to requests.
DAEMON = """
import os, signal, sys, time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.write(writing, b"x")
        time.sleep(600)
    os._exit(0)
os.wait()
os.read(reading, 1)
print("up", flush=True)
"""
DAEMON_AND_END = DAEMON + "sys.exit(3)"
DAEMON_AND_STAY = DAEMON + "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


async def first_line(running: Running) -> str:
    async with asyncio.timeout(PATIENCE):
        return (await asyncio.to_thread(running.stdout.readline)).decode().strip()


@requirement("S3.21", "S3.59")
async def test_the_program_inside_is_asked_to_end_and_its_own_status_is_told(den: Den) -> None:
    async with den.started(python(POLITE)) as running:
        assert await first_line(running) == "up"
        status = await stop(running, close_input=running.stdin.close)
    assert (den.workspace / "asked").read_text() == "yes"
    assert status == 7


async def test_a_program_whose_input_closes_ends_by_itself(den: Den) -> None:
    async with den.started(python("import sys; sys.stdin.read(); sys.exit(5)")) as running:
        assert await stop(running, close_input=running.stdin.close) == 5


@requirement("S3.59")
async def test_whoever_is_deaf_is_ended_with_everything_it_started(den: Den) -> None:
    async with den.started(python(DAEMON_AND_STAY)) as running:
        assert await first_line(running) == "up"
        family = descendants_of(running.pid)
        # Its walls are two processes; the program and the daemon are behind them.
        assert len(family) >= 3
        await stop(running, close_input=running.stdin.close)
        await until_gone(family)
    assert not mentioning(str(den.workspace))


@attack("B31")
async def test_a_daemon_does_not_outlive_the_program_that_made_it(den: Den) -> None:
    async with den.started(python(DAEMON_AND_END)) as running:
        assert await first_line(running) == "up"
        assert await running.exited == 3
        await asyncio.to_thread(wait_until_none_mention, str(den.workspace))


async def test_programs_that_fork_without_end_are_ended(den: Den) -> None:
    program = """
import os, time
print("up", flush=True)
made = 0
while made < 400:
    pid = os.fork()
    made += 1
    if pid and made % 50 == 0:
        time.sleep(0.01)
    if pid == 0 and made > 3:
        os.setsid()
        time.sleep(600)
time.sleep(600)
"""
    async with den.started(python(program)) as running:
        assert await first_line(running) == "up"
        await stop(running, close_input=running.stdin.close)
    await asyncio.to_thread(wait_until_none_mention, str(den.workspace))


DRIVER = """
import asyncio, json, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
from sandbox.den import Den, python
from switchboard.procs.spawn import spawn
from switchkit.reaper_client import Reaper
from switchboard.sandbox.sandbox import Sandbox
den = Den.__new__(Den)
root = Path(sys.argv[2])
den.workspace, den.home, den.state = root / "workspace", root / "home", root / "state"
den.sandbox = Sandbox()
async def main():
    reaper = Reaper()
    running = await spawn(den.spec(python(sys.argv[3])), reaper=reaper, timeout_s=20)
    await asyncio.to_thread(running.stdout.readline)
    print(running.pid, reaper._process.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def _driver(den: Den) -> "subprocess.Popen[str]":
    """A program like Switchboard, that has started one in a sandbox."""
    argv = (sys.executable, "-c", DRIVER, json.dumps(sys.path), str(den.workspace.parent))
    return subprocess.Popen((*argv, DAEMON_AND_STAY), stdout=subprocess.PIPE, text=True)


def _pids(driver: "subprocess.Popen[str]") -> tuple[int, int]:
    assert driver.stdout is not None
    running, reaper = map(int, driver.stdout.readline().split())
    return running, reaper


def test_nobody_is_left_when_we_are_killed(den: Den) -> None:
    with _driver(den) as driver:
        running, _ = _pids(driver)
        family = descendants_of(running)
        assert len(family) >= 3
        driver.kill()
    wait_until_gone([running, *family])
    wait_until_none_mention(str(den.workspace))


def test_nobody_is_left_when_we_and_the_reaper_are_killed_at_once(den: Den) -> None:
    """The kernel ends a sandbox whose starter is gone; nobody else has to live for that."""
    with _driver(den) as driver:
        running, reaper = _pids(driver)
        family = descendants_of(running)
        for pid in (reaper, driver.pid):
            os.kill(pid, signal.SIGKILL)
    wait_until_gone([running, *family])
    wait_until_none_mention(str(den.workspace))


async def test_whoever_ends_the_walls_ends_what_is_inside(den: Den) -> None:
    async with den.started(python(DAEMON_AND_STAY)) as running:
        assert await first_line(running) == "up"
        family = descendants_of(running.pid)
        os.kill(running.pid, signal.SIGKILL)
        await until_gone([running.pid, *family])


async def test_no_descriptor_is_left_open(den: Den) -> None:
    async def used() -> int:
        assert (await den.run(("/bin/true",))).status == 0
        with pytest.raises(Fault):
            await den.run(("/no/such/command",))
        with pytest.raises(Fault):
            await den.run(("/bin/true",), writable_roots=("/",))
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are all that is counted

    # The first time a loop makes what it keeps.
    assert await used() == await used()
