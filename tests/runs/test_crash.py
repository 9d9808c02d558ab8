"""What `kill -9` of a process with runs leaves: no process, no lost run, and none done twice."""

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from runs.ground import a_run
from support.processes import alive, describe, mentioning
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.core.bus import EventBus
from switchboard.daemon.board.run_service import open_runs
from switchboard.runs.endings import MOST_ATTEMPTS
from switchboard.runs.limits import RunLimits
from switchboard.runs.run import Run
from switchboard.runs.store.sqlite import SqliteRuns

HOLDER = Path(__file__).parent / "holder.py"
PATIENCE = 60.0


class Holder:
    """A process that holds runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid
        self.started: list[str] = []

    @classmethod
    async def start(cls, home: Path, workspace: Path, on_crash: str, count: int) -> "Holder":
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(HOLDER), str(home), str(workspace), on_crash, str(count)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        return cls(process)

    async def line(self) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = (await self._process.stdout.readline()).decode().strip()
        if line.startswith("started "):
            self.started.append(line.partition(" ")[2])
        return line

    async def until(self, wanted: str) -> None:
        while wanted not in (line := await self.line()):
            assert line, "it ended"

    async def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        # What it said before is ours to rely on.
        while await self.line():
            pass
        await self._process.wait()

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            assert await self._process.wait() == 0


async def nothing_runs(marker: Path) -> None:
    """Wait until nothing that was started there is left."""
    until = time.monotonic() + PATIENCE
    while left := [pid for pid in mentioning(str(marker)) if alive(pid)]:
        assert time.monotonic() < until, describe(left)
        await asyncio.sleep(0.02)


async def all_runs(home: Path) -> list[Run]:
    runs = open_runs(str(home), EventBus(), RunLimits())
    try:
        return await runs.listed(last=1000)
    finally:
        await runs.aclose()


def starts(workspace: Path) -> Counter[str]:
    """How often each run was started, by the marks that its workers left."""
    return Counter(path.name.partition(".")[0] for path in workspace.glob("r-*.*"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "h").mkdir()
    return tmp_path / "h"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


# From the first moment to the last: accepted, begun, at work, about to end.
@pytest.mark.parametrize("moment", ["started", "working", "has begun", "writes"])
async def test_a_killed_process_leaves_no_engine_and_its_runs_fail(
    home: Path, workspace: Path, moment: str
) -> None:
    holder = await Holder.start(home, workspace, "fail", 2)
    await holder.until(moment)
    await holder.kill()
    await nothing_runs(workspace)
    found = {run.id: run for run in await all_runs(home)}
    assert set(holder.started) <= set(found)
    for run in found.values():
        assert (run.state, run.reason) == ("failed", "interrupted")
    assert all(count == 1 for count in starts(workspace).values())


@pytest.mark.parametrize("on_crash", ["retry", "resume"])
async def test_the_next_process_takes_up_what_was_killed(
    home: Path, workspace: Path, on_crash: str
) -> None:
    holder = await Holder.start(home, workspace, on_crash, 2)
    await holder.until("writes")
    await holder.kill()
    await nothing_runs(workspace)
    heir = await Holder.start(home, workspace, on_crash, 0)
    await heir.until("idle")
    await heir.end()
    found = await all_runs(home)
    assert [run.state for run in found] == ["completed", "completed"]
    assert sorted(starts(workspace).values()) == [1, 2]
    await nothing_runs(workspace)


async def test_two_processes_on_one_home_come_up_together_and_run_nothing_twice(
    home: Path, workspace: Path
) -> None:
    holders = [await Holder.start(home, workspace, "retry", 2) for _ in range(2)]
    for holder in holders:
        await holder.until("idle")
    for holder in holders:
        await holder.end()
    found = await all_runs(home)
    assert [run.state for run in found] == ["completed"] * 4
    assert set(starts(workspace).values()) == {1}


async def test_a_process_that_was_frozen_in_the_middle_of_a_run_ends_it_once_it_wakes(
    home: Path, workspace: Path
) -> None:
    holder = await Holder.start(home, workspace, "fail", 1)
    await holder.until("writes")
    os.kill(holder.pid, signal.SIGSTOP)
    # Another process that looks meanwhile takes nothing from it: it lives.
    assert [run.has_ended for run in await all_runs(home)] == [False]
    os.kill(holder.pid, signal.SIGCONT)
    await holder.until("idle")
    await holder.end()
    assert [run.state for run in await all_runs(home)] == ["completed"]
    assert set(starts(workspace).values()) == {1}
    await nothing_runs(workspace)


async def test_a_clean_end_leaves_nothing_running(home: Path, workspace: Path) -> None:
    holder = await Holder.start(home, workspace, "fail", 1)
    await holder.until("idle")
    await holder.end()
    await nothing_runs(workspace)


_WRITER = """
import asyncio, sys
sys.path.insert(0, sys.argv[2])
from runs.ground import a_run
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.runs.store.sqlite import SqliteRuns

async def main():
    store = SqliteRuns(sys.argv[1], owners=ProcessOwners())
    while True:
        run = a_run()
        await store.add(run)
        print("run", run.id, flush=True)
        for number in range(5):
            await store.append(run.id, '{"event":"message","text":"%d"}' % number)
            print("line", run.id, flush=True)
        await store.update(run.id, state="completed", output="x", ended_at=1e12)
        print("end", run.id, flush=True)

asyncio.run(main())
"""


async def test_what_was_acknowledged_is_there_after_a_kill(home: Path) -> None:
    tests = str(Path(__file__).parent.parent)
    acknowledged: Counter[tuple[str, str]] = Counter()
    for _ in range(4):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _WRITER, str(home), tests), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        for _ in range(random.randint(10, 60)):
            assert await process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        rest = await process.stdout.read()
        await process.wait()
        for line in rest.decode().splitlines():
            if len(words := line.split()) == 2 and len(words[1]) == len(a_run().id):
                acknowledged[words[0], words[1]] += 1
    store = SqliteRuns(str(home), owners=ProcessOwners())
    for (kind, run_id), count in acknowledged.items():
        run = await store.get(run_id)
        assert run is not None
        if kind == "line":
            assert len(await store.transcript(run_id)) >= count
        if kind == "end":
            assert run.state == "completed"
    await store.aclose()


async def kills_at_random_moments(
    home: Path, workspace: Path, on_crash: str, *, rounds: int, kills: int
) -> None:
    known: set[str] = set()
    for round_number in range(rounds):
        for _ in range(kills):
            holder = await Holder.start(home, workspace, on_crash, 1)
            # From the first line, when nothing is there yet, to the last.
            for _ in range(random.randint(0, 30)):
                if (await holder.line()) in {"", "idle"}:
                    break
            await holder.kill()
            await nothing_runs(workspace)
            known |= set(holder.started)
        heir = await Holder.start(home, workspace, on_crash, 0)
        await heir.until("idle")
        await heir.end()
        await nothing_runs(workspace)
        found = {run.id: run for run in await all_runs(home)}
        assert known <= set(found), round_number
        counted = starts(workspace)
        for run in found.values():
            assert run.has_ended, round_number
            # One mark for each attempt, and none of them twice.
            assert counted[run.id] <= run.attempts <= MOST_ATTEMPTS
        if on_crash == "fail":
            assert set(counted.values()) <= {1}


async def test_two_rounds_of_kills_lose_double_and_leave_nothing(
    home: Path, workspace: Path
) -> None:
    await kills_at_random_moments(home, workspace, "resume", rounds=2, kills=2)


# A round is a test, since none may take more than five minutes.
@pytest.mark.soak
@pytest.mark.timeout(280)
@pytest.mark.parametrize("number", range(20))
async def test_nothing_is_lost_doubled_or_left_by_kills_at_random_moments(
    home: Path, workspace: Path, number: int
) -> None:
    on_crash = ("fail", "retry", "resume")[number % 3]
    await kills_at_random_moments(home, workspace, on_crash, rounds=1, kills=10)
