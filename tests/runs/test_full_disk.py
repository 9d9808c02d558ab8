"""A disk that is full when a run starts, works or ends; SQLite itself refuses to grow its file."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from runs.conftest import Machine
from runs.ground import OPENED, PATIENCE, ScriptedWorker, a_spec, known
from switchboard.cli.verbs.parts.runs.run_lines import run_lines
from switchboard.core.events import RunEnded, RunStarted, RunUnwritten, RunWritten
from switchboard.core.faults import Fault
from switchboard.engines.events import AgentMessage, CommandItem
from switchboard.runs.service import RunService
from switchboard.runs.store import database, late_ends
from switchboard.runs.store.database import trouble_with
from switchboard.runs.store.run_table import RunTable
from switchboard.runs.store.sqlite import SqliteRuns
from switchkit.cli.style import Style

# More than a page that is there has room for.
LONG = "all tidy " * 20_000


async def limit(runs: RunService, pages: int) -> None:
    """Let the file have so many pages, or as many as it has."""
    store = runs.store
    assert isinstance(store, SqliteRuns)

    def change(table: RunTable) -> Any:
        return vars(table)["_database"].rows(f"PRAGMA max_page_count = {pages}")

    await store.run(change)


async def fill(runs: RunService) -> None:
    await limit(runs, 1)


async def make_room(runs: RunService) -> None:
    await limit(runs, 1_000_000)


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - not everything tells
            await asyncio.sleep(0.01)


async def ended_on_full_disk(runs: RunService, **spec: Any) -> tuple[ScriptedWorker, str]:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec(**spec))
    work = await worker.next()
    await fill(runs)
    work.say(OPENED)
    work.say(AgentMessage(text=LONG))
    work.finish(LONG)
    told = await runs.wait(run.id, within_s=PATIENCE)
    assert (told.state, told.output, told.is_unwritten) == ("completed", LONG, True)
    assert told.thread_id == "t-1"
    return worker, run.id


async def test_an_end_that_cannot_be_written_is_told_and_written_later(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_ends, "_FIRST_S", 0.02)
    monkeypatch.setattr(late_ends, "_LONGEST_S", 0.02)
    runs = machine.process()
    _, run_id = await ended_on_full_disk(runs)
    assert (await known(runs.store, run_id)).state == "working"
    assert (await runs.get(run_id)).output == LONG
    assert [run.state for run in await runs.listed()] == ["completed"]
    shown = "\n".join(run_lines(await runs.get(run_id), Style()))
    assert "on disk:   not yet" in shown
    # The process has to stay for it.
    assert [run.id for run in runs.under_way()] == [run_id]
    await runs.delivered(run_id)
    await asyncio.sleep(0.1)
    assert len(machine.events.of(RunUnwritten)) == 1
    assert len(machine.events.of(RunEnded)) == 1
    await make_room(runs)
    await until(lambda: machine.events.of(RunWritten))
    kept = await known(runs.store, run_id)
    assert (kept.state, kept.output, kept.thread_id) == ("completed", LONG, "t-1")
    assert kept.is_delivered
    assert not kept.is_unwritten
    assert not (await runs.get(run_id)).is_unwritten
    assert runs.under_way() == []
    last = (await runs.transcript(run_id))[-1]
    assert msgspec.json.decode(last.data)["state"] == "completed"


async def test_nothing_is_tried_for_ever_but_the_next_run_tries_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_ends, "_FIRST_S", 0.01)
    monkeypatch.setattr(late_ends, "_IN_ALL_S", 0.02)
    runs = machine.process()
    worker, run_id = await ended_on_full_disk(runs)
    await until(lambda: not runs.under_way())
    assert (await runs.get(run_id)).output == LONG
    await make_room(runs)
    # It may write in the same workspace, where the disk says that the other one works.
    second = await runs.start(a_spec())
    (await worker.next()).finish()
    assert (await runs.wait(second.id, within_s=PATIENCE)).state == "completed"
    assert (await known(runs.store, run_id)).output == LONG


async def test_a_process_that_stops_tries_a_last_time(machine: Machine) -> None:
    runs = machine.process()
    _, run_id = await ended_on_full_disk(runs)
    await make_room(runs)
    await runs.aclose()
    assert (await machine.process().get(run_id)).output == LONG


@pytest.mark.parametrize(("on_crash", "state"), [("fail", "failed"), ("retry", "queued")])
async def test_an_end_that_died_with_its_process_is_a_crash(
    machine: Machine, on_crash: str, state: str
) -> None:
    runs = machine.process()
    _, run_id = await ended_on_full_disk(runs, on_crash=on_crash)
    await machine.kill(runs)
    others = machine.process()
    if on_crash == "fail":
        run = await others.get(run_id)
        assert (run.state, run.reason) == (state, "interrupted")
        return
    worker = ScriptedWorker()
    others.attach(worker)
    (await worker.next()).finish("again")
    run = await others.wait(run_id, within_s=PATIENCE)
    assert (run.output, run.attempts) == ("again", 2)


async def test_no_run_is_started_on_a_full_disk(machine: Machine) -> None:
    runs = machine.process()
    worker = ScriptedWorker()
    runs.attach(worker)
    await runs.listed()
    await fill(runs)
    with pytest.raises(Fault) as refusal:
        await runs.start(a_spec(task=LONG))
    assert refusal.value.reason == "disk-full"
    assert "the disk is full" in refusal.value.message
    assert "make room" in refusal.value.hint
    assert machine.events.of(RunStarted) == []
    assert worker.works == []
    assert runs.under_way() == []
    await make_room(runs)
    assert await runs.listed() == []


async def test_runs_are_shown_while_nobody_can_write(machine: Machine) -> None:
    runs = machine.process()
    run = await runs.start(a_spec())
    await machine.kill(runs)
    path = f"{machine.home}/state/runs.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # As a process does that was stopped in the middle of a change.
        connection.execute("BEGIN IMMEDIATE")
        others = machine.process()
        assert [each.id for each in await others.listed()] == [run.id]
        connection.execute("ROLLBACK")
    assert (await others.get(run.id)).reason == "interrupted"


async def test_lines_that_could_not_be_written_are_missed_in_the_transcript(
    runs: RunService,
) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    work = await worker.next()
    work.say(OPENED)
    await until(lambda: runs.under_way()[0].thread_id)
    await fill(runs)
    work.say(CommandItem(id="1", status="started", command=f"first {LONG}"))
    work.say(CommandItem(id="2", status="started", command=f"last {LONG}"))
    await until(lambda: "last" in runs.under_way()[0].doing)
    await make_room(runs)
    work.finish()
    assert (await runs.wait(run.id, within_s=PATIENCE)).output == "done"
    lines = [msgspec.json.decode(line.data) for line in await runs.transcript(run.id)]
    # That one is missing is short enough for the page that is there.
    kinds = [line["event"] for line in lines]
    assert kinds == ["state", "opened", "cut", "cut", "turn-ended", "state"]
    assert lines[2]["text"].startswith("1 line is missing")


async def test_who_looks_after_runs_is_told_of_a_full_disk(
    runs: RunService, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await runs.listed()
    assert trouble_with(machine.home) == ("", "")
    monkeypatch.setattr(database, "_LEAST_ROOM", 1 << 60)
    trouble, remedy = trouble_with(machine.home)
    assert trouble.startswith("the disk is full")
    assert "runs.db" in remedy
