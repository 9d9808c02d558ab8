"""What a confined program may use at most: each is tried, and held."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.den import PATIENCE, Den
from switchboard.sandbox.limits import limits_in_words

ROOM = "import sys; print(len(bytearray(300 << 20)))"
FILES = "print(len([open('/dev/null') for _ in range(100)]))"
SPINS = "while True: pass"
WRITES = "open('large', 'wb').write(bytes(3 << 20))"


@pytest.mark.parametrize(
    ("program", "limits"),
    [(ROOM, {"memory": "100M"}), (FILES, {"files": 50}), (WRITES, {"disk": "1M"})],
)
async def test_more_than_allowed_fails(
    den: Den, program: str, limits: dict[str, int | str]
) -> None:
    assert (await den.python(program)).status == 0
    large = den.workspace / "large"
    large.unlink(missing_ok=True)
    assert (await den.python(program, limits=limits)).status != 0
    assert large.exists() == (program is WRITES)
    assert not large.exists() or large.stat().st_size <= 1 << 20


async def test_who_computes_too_long_is_ended_and_told_why(den: Den) -> None:
    spec_limits: dict[str, int | str] = {"cpu": 1}
    async with den.started((sys.executable, "-c", SPINS), limits=spec_limits) as running:
        await running.exited
        told = running.denial()
    assert told is not None
    assert (told.reason, told.details["knob"]) == ("sandbox-limit", "limits")


async def test_an_entry_cannot_ask_for_more_than_holds_for_everybody(den: Den) -> None:
    program = "import resource; print(*resource.getrlimit(resource.RLIMIT_FSIZE))"
    ended = await den.python(program, limits={"disk": "8T", "files": 10_000_000})
    assert ended.stdout.split() == [str(4 << 30)] * 2


FORKS = """
import os, time
made = 0
try:
    for _ in range(60):
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made)
"""


@pytest.mark.parametrize(("processes", "made"), [("20", 18), ("", 60)])
async def test_forks_of_an_ordinary_user_beyond_the_limit_are_refused(
    processes: str, made: int
) -> None:
    program = str(Path(__file__).with_name("ordinary_user.py"))
    ended = await asyncio.to_thread(
        subprocess.run,
        (sys.executable, program, processes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    # The program, and the first process of its namespace, are counted too.
    assert int(ended.stdout.split()[-1]) == made
    assert ("fork" in ended.stderr) == bool(processes)


async def test_processes_are_counted_for_each_sandbox(den: Den) -> None:
    program = "import resource; print(*resource.getrlimit(resource.RLIMIT_NPROC))"
    assert (await den.python(program, limits={"processes": 20})).stdout.split() == ["20", "20"]
    assert int((await den.python(FORKS)).stdout) == 60


def test_words() -> None:
    assert limits_in_words({}) == ()
    assert limits_in_words({"memory": "1G", "cpu": 60}) == ("at most cpu 60 s, memory 1G",)
