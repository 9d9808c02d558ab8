"""A process starts in its own session, with exactly the environment and folder it is given."""

import asyncio
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from procs.homes import PATIENCE, first_line, python, started
from support.processes import mentioning, until_true
from support.requirements import attack, requirement
from switchboard.core.faults import Fault, FaultCode
from switchboard.procs.spawn import SpawnSpec, spawn
from switchkit.reaper_client import Reaper

FACTS = """
import json, os
environ = dict(l.split("=", 1) for l in open("/proc/self/environ").read().split("\\0") if l)
print(json.dumps({"pid": os.getpid(), "sid": os.getsid(0), "pgid": os.getpgid(0),
    "cwd": os.getcwd(), "env": environ, "fds": sorted(os.listdir("/proc/self/fd"))}), flush=True)
input()
"""


@requirement("S2.84", "S2.86")
async def test_a_process_has_its_own_session_the_given_folder_and_nothing_of_our_environment(
    tmp_path: Path,
) -> None:
    env = {"ONLY": "this", "EMPTY": ""}
    async with started(python(FACTS, cwd=tmp_path, env=env)) as running:
        facts = await first_line(running)
    assert facts["pid"] == facts["sid"] == facts["pgid"] == running.pid != os.getpid()
    assert facts["cwd"] == str(tmp_path)
    assert facts["env"] == env


async def test_a_process_inherits_no_open_file_of_ours(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        async with started(python(FACTS, cwd=tmp_path)) as running:
            facts = await first_line(running)
    finally:
        os.close(reading)
        os.close(writing)
    # The three streams, and the folder that it lists.
    assert facts["fds"] == ["0", "1", "2", "3"]


@requirement("S2.54")
async def test_what_a_process_writes_to_stderr_is_kept_apart_from_stdout(tmp_path: Path) -> None:
    text = "import sys; sys.stderr.write('careful\\n'); sys.stderr.flush(); print('1'); input()"
    async with started(python(text, "x", cwd=tmp_path)) as running:
        running.stdin.write(b"\n")
        running.stdin.flush()
        assert await first_line(running) == 1
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.shield(running.exited) == 0
        await until_true(lambda: running.errors.text() == "careful")


@attack("D8")
async def test_a_flood_on_stderr_keeps_its_end_and_little_else(tmp_path: Path) -> None:
    text = (
        "import sys\n"
        "for n in range(20000): sys.stderr.write('e' * 1000 + '\\n')\n"
        "sys.stderr.write('the last line\\n')"
    )
    async with started(python(text, cwd=tmp_path)) as running:
        async with asyncio.timeout(PATIENCE):
            await asyncio.shield(running.exited)
        await until_true(lambda: running.errors.text().endswith("the last line"))
        assert running.errors.seen_bytes > 20_000_000
        assert len(running.errors.text(10**9)) <= 2 * 64 * 1024


def missing_command(folder: Path) -> SpawnSpec:
    return SpawnSpec(argv=(str(folder / "nowhere" / "tool"),), cwd=str(folder), env={})


def not_executable(folder: Path) -> SpawnSpec:
    file = folder / "tool"
    file.write_text("#!/bin/sh\n")
    file.chmod(stat.S_IRUSR)
    return SpawnSpec(argv=(str(file),), cwd=str(folder), env={})


def missing_folder(folder: Path) -> SpawnSpec:
    return SpawnSpec(argv=(sys.executable, "-V"), cwd=str(folder / "nowhere"), env={})


def not_a_program(folder: Path) -> SpawnSpec:
    file = folder / "tool"
    file.write_bytes(b"\0\1\2\3")
    file.chmod(stat.S_IRWXU)
    return SpawnSpec(argv=(str(file),), cwd=str(folder), env={})


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (missing_command, "not found"),
        (not_executable, "may not be executed"),
        (missing_folder, "working directory"),
        (not_a_program, "could not be started"),
    ],
)
async def test_what_cannot_be_started_is_a_fault_that_names_the_cause_and_no_path(
    make: Callable[[Path], SpawnSpec], word: str, tmp_path: Path
) -> None:
    reaper = Reaper()
    with pytest.raises(Fault) as caught:
        await spawn(make(tmp_path), reaper=reaper, timeout_s=PATIENCE)
    fault = caught.value
    assert (fault.code, fault.reason) == (FaultCode.INTERNAL, "spawn-failed")
    assert word in fault.message
    assert str(tmp_path) not in f"{fault.message}{fault.hint}{fault.details}"


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("no-such-program", "install it, or give its full path as `command`"),
        ("/opt/notes/bin/no-such", "there is no file at the path that is its `command`"),
    ],
)
async def test_nobody_is_told_to_give_the_path_that_they_gave(
    command: str, hint: str, tmp_path: Path
) -> None:
    spec = SpawnSpec(argv=(command,), cwd=str(tmp_path), env={"PATH": "/nowhere"})
    with pytest.raises(Fault) as caught:
        await spawn(spec, reaper=Reaper(), timeout_s=PATIENCE)
    assert hint in caught.value.hint


@requirement("S2.79")
async def test_a_start_that_takes_too_long_is_given_up_and_leaves_no_process(
    tmp_path: Path,
) -> None:
    marker = f"switchboard-late-{os.getpid()}"
    spec = python("input()", marker, cwd=tmp_path)
    with pytest.raises(Fault) as caught:
        await spawn(spec, reaper=Reaper(), timeout_s=0)
    assert (caught.value.code, caught.value.reason) == (
        FaultCode.DEADLINE_EXCEEDED,
        "child-start-timeout",
    )
    await until_true(lambda: not mentioning(marker))
