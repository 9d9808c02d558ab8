"""One process from its start to its end, for whoever needs one: no command tool is near."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes import mentioning, until_true, wait_until_none_mention
from switchboard.core.faults import Fault
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.procs.output import KEPT_BYTES
from switchboard.procs.run import ProcessRun
from switchboard.procs.spawn import SpawnSpec
from switchkit.reaper_client import Reaper

PATIENCE = 20.0
SECRET = "hunter2-and-a-bit-more"


@pytest.fixture
def reaper() -> Iterator[Reaper]:
    reaper = Reaper()
    yield reaper
    reaper.close()


def python(program: str, folder: Path, *items: str) -> SpawnSpec:
    argv = (sys.executable, "-I", "-S", "-c", program, *items)
    return SpawnSpec(argv=argv, cwd=str(folder), env={})


async def test_a_process_is_fed_and_read_and_its_end_is_told(
    tmp_path: Path, reaper: Reaper
) -> None:
    program = "import sys; print(sys.stdin.read()); print('bad', file=sys.stderr); sys.exit(3)"
    heard: list[str] = []
    run = ProcessRun(
        python(program, tmp_path),
        KnownSecrets(frozenset({SECRET})),
        stdin=f"it is {SECRET}".encode(),
        stdout=heard.append,
    )
    async with asyncio.timeout(PATIENCE):
        end = await run.to_end(reaper=reaper, start_s=PATIENCE)
    assert (end.status, end.stdout, end.stderr) == (3, "it is [redacted]\n", "bad\n")
    assert (end.bytes_stdout, end.redactions) == (len(f"it is {SECRET}\n"), 1)
    assert "".join(heard) == "it is [redacted]\n"
    assert (end.appeared, end.denial) == ((), None)


async def test_what_is_kept_of_a_flood_is_its_beginning_and_its_end(
    tmp_path: Path, reaper: Reaper
) -> None:
    program = "print('first')\nfor _ in range(20000): print('y' * 99)\nprint('last')"
    run = ProcessRun(python(program, tmp_path), KnownSecrets(frozenset()))
    async with asyncio.timeout(PATIENCE):
        end = await run.to_end(reaper=reaper, start_s=PATIENCE)
    assert end.bytes_stdout > 2 * KEPT_BYTES
    assert len(end.stdout) < 3 * KEPT_BYTES
    assert end.stdout.startswith("first\n")
    assert end.stdout.endswith("last\n")
    assert "bytes left out" in end.stdout


async def test_whoever_cancels_ends_the_process_with_its_tree_and_can_tell_what_it_said(
    tmp_path: Path, reaper: Reaper
) -> None:
    mark = str(tmp_path / "mark")
    program = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', sys.argv[1]])\n"
        "print('begun', flush=True)\n"
        "time.sleep(600)"
    )
    begun = asyncio.Event()
    run = ProcessRun(
        python(program, tmp_path, mark),
        KnownSecrets(frozenset()),
        stdout=lambda _: begun.set(),
    )
    task = asyncio.ensure_future(run.to_end(reaper=reaper, start_s=PATIENCE))
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        await until_true(lambda: len(mentioning(mark)) == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(wait_until_none_mention, mark)
    assert run.so_far().stdout == "begun\n"
    assert run.so_far().status not in (None, 0)


async def test_what_cannot_start_is_a_fault(tmp_path: Path, reaper: Reaper) -> None:
    spec = SpawnSpec(argv=("no-such-program",), cwd=str(tmp_path), env={"PATH": ""})
    run = ProcessRun(spec, KnownSecrets(frozenset()))
    with pytest.raises(Fault) as caught:
        await run.to_end(reaper=reaper, start_s=PATIENCE)
    assert caught.value.reason == "spawn-failed"
    assert run.so_far().status is None
