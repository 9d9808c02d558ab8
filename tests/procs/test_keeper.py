"""Whatever a kept program started ends with it or with us, wherever that went."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from procs.homes import PATIENCE, ended, first_line, python, started
from support.processes import alive, children_of, mentioning, until_gone, until_true
from support.workspace import CHECKOUT
from switchboard.core.faults import Fault
from switchboard.procs.kept import kept
from switchboard.procs.spawn import SpawnSpec, spawn
from switchkit.reaper_client import Reaper

# A shell that forks twice, into a session of its own, without a variable of ours, deaf to SIGTERM.
# Nobody is left who could be seen as its parent. It is told by its folder, and by what it wrote.
HIDING = """
import os, subprocess, sys, time
script = 'trap "" TERM HUP; echo $$ > hidden; while :; do sleep 1; done'
alone = f"env -i PATH=/usr/bin:/bin setsid sh -c '{script}'"
subprocess.run(["sh", "-c", f"({alone} >&- 2>&- <&- &) &"])
while not os.path.exists("hidden") or not open("hidden").read().strip():
    time.sleep(0.01)
print(int(open("hidden").read()), flush=True)
if sys.argv[1] == "ends":
    sys.exit(3)
if sys.argv[1] == "stays":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
sys.stdin.read()
"""

# Starts a kept program, and is killed before it could tell its reaper.
KILLED_BETWEEN = """
import asyncio, os, signal, sys
from switchboard.procs.kept import kept
from switchboard.procs.spawn import SpawnSpec, spawn
from switchkit.reaper_client import Reaper
class Killed(Reaper):
    def guard(self, pid, *, lifeline=None):
        print(pid, flush=True)
        if sys.argv[2] == "later":
            sys.stdin.readline()
        os.kill(os.getpid(), signal.SIGKILL)
argv = (sys.executable, "-I", "-S", "-c", sys.argv[1], "waits")
spec = SpawnSpec(argv=argv, cwd=os.getcwd(), env={}, wrap=kept)
asyncio.run(spawn(spec, reaper=Killed(), timeout_s=30))
"""

# Starts a kept program that lives only as long as somebody says so, which this does for each line.
PULSING = """
import asyncio, os, sys
from functools import partial
from switchboard.procs.kept import kept
from switchboard.procs.spawn import SpawnSpec, spawn
from switchkit.reaper_client import Reaper
async def main():
    reaper = Reaper()
    reaper.silence_s = float(sys.argv[2])
    argv = (sys.executable, "-I", "-S", "-c", sys.argv[1], "stays")
    wrap = partial(kept, silence_s=reaper.silence_s)
    spec = SpawnSpec(argv=argv, cwd=os.getcwd(), env={}, wrap=wrap)
    running = await spawn(spec, reaper=reaper, timeout_s=30)
    hidden = int(await asyncio.to_thread(running.stdout.readline))
    print([running.pid, hidden], flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        reaper.pulse()
asyncio.run(main())
"""

# Starts a kept program, says whom it started, and waits to be killed.
OWNER = """
import asyncio, os, sys
from switchboard.procs.kept import kept
from switchboard.procs.spawn import SpawnSpec, spawn
from switchkit.reaper_client import Reaper
async def main():
    argv = (sys.executable, "-I", "-S", "-c", sys.argv[1], "stays")
    spec = SpawnSpec(argv=argv, cwd=os.getcwd(), env={}, wrap=kept)
    running = await spawn(spec, reaper=Reaper(), timeout_s=30)
    hidden = int(await asyncio.to_thread(running.stdout.readline))
    print([running.pid, hidden], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


def hiding(how: str, folder: Path) -> SpawnSpec:
    return replace(python(HIDING, how, cwd=folder), wrap=kept)


@pytest.mark.parametrize("how", ["waits", "stays"])
async def test_a_shell_that_hid_from_everybody_ends_with_the_program(
    tmp_path: Path, how: str
) -> None:
    async with started(hiding(how, tmp_path)) as running:
        hidden = await first_line(running)
        assert alive(hidden)
        await ended(running)
        assert not alive(hidden)
    assert not mentioning(str(tmp_path))


async def test_a_program_that_ends_by_itself_leaves_nobody_and_tells_its_status(
    tmp_path: Path,
) -> None:
    async with started(hiding("ends", tmp_path)) as running:
        hidden = await first_line(running)
        async with asyncio.timeout(PATIENCE):
            assert await running.exited == 3
        assert not alive(hidden)


async def test_a_program_that_was_killed_is_told_as_such(tmp_path: Path) -> None:
    async with started(hiding("stays", tmp_path)) as running:
        hidden = await first_line(running)
        [program] = [pid for pid in children_of(running.pid) if pid != hidden]
        os.kill(program, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE):
            assert await running.exited == -signal.SIGKILL
        assert not alive(hidden)


async def test_a_signal_is_for_the_program_and_spares_its_keeper(tmp_path: Path) -> None:
    polite = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'asked\\n'), os._exit(5)))\n"
        "print(os.getpid(), flush=True)\n"
        "sys.stdin.read()"
    )
    async with started(replace(python(polite, cwd=tmp_path), wrap=kept)) as running:
        await first_line(running)
        await running.signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await running.exited == 5
            assert await asyncio.to_thread(running.stdout.readline) == b"asked\n"


@pytest.mark.parametrize("how", ["silent", "stopped"])
async def test_an_owner_that_says_nothing_is_as_good_as_gone(tmp_path: Path, how: str) -> None:
    async with _python(PULSING, HIDING, "2", folder=tmp_path) as (process, told):
        pids = [int(pid) for pid in told]
        assert process.stdin is not None
        # Longer than the silence in all.
        until = asyncio.get_running_loop().time() + 4.0
        while asyncio.get_running_loop().time() < until:
            process.stdin.write(b"\n")
            assert all(alive(pid) for pid in pids)
            await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=0.2)
        if how == "stopped":
            process.send_signal(signal.SIGSTOP)
        await until_gone(pids)
        assert process.returncode is None
        process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("when", ["now", "later"])
async def test_a_kill_between_the_start_and_the_reaper_leaves_nothing(
    tmp_path: Path, when: str
) -> None:
    async with _python(KILLED_BETWEEN, HIDING, when, folder=tmp_path) as (process, pid):
        if when == "later":
            # By now the program runs, and has hidden a shell.
            await until_true((tmp_path / "hidden").exists)
            assert process.stdin is not None
            process.stdin.write(b"\n")
        await process.wait()
        await until_gone([pid, *mentioning(str(tmp_path))])
    assert not mentioning(str(tmp_path))


async def test_a_killed_owner_leaves_no_hidden_shell(tmp_path: Path) -> None:
    async with _python(OWNER, HIDING, folder=tmp_path) as (process, pids):
        process.kill()
        await process.wait()
        await until_gone([*pids, *mentioning(str(tmp_path))])


async def test_a_stopped_keeper_is_no_way_out(tmp_path: Path) -> None:
    async with started(hiding("stays", tmp_path)) as running:
        hidden = await first_line(running)
        os.kill(running.pid, signal.SIGSTOP)
        await ended(running)
        assert not alive(hidden)


@pytest.mark.parametrize(("name", "reason"), [("nothing-here", "not found"), ("file", "executed")])
async def test_a_program_that_is_not_there_is_told_at_once(
    tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "file").write_text("no program")
    reaper = Reaper()
    spec = SpawnSpec(argv=(str(tmp_path / name),), cwd=str(tmp_path), env={}, wrap=kept)
    with pytest.raises(Fault, match=reason):
        await spawn(spec, reaper=reaper, timeout_s=PATIENCE)
    reaper.close()


@asynccontextmanager
async def _python(
    text: str, *args: str, folder: Path
) -> AsyncGenerator[tuple[asyncio.subprocess.Process, Any]]:
    """A program of ours, and the first line that it writes."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", text, *args),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
        env={"PYTHONPATH": str(CHECKOUT / "src"), "PATH": os.defpath},
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            line = await process.stdout.readline()
        yield process, json.loads(line)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
