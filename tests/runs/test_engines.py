"""The engines of runs: turns in memory alone, and with every attempt noted by DBOS."""

import asyncio
import gc
import socket
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from dbos import DBOS

from runs.engine_contract import RunEngineContract, Stage
from runs.ground import FakeOwners, a_run
from switchboard.runs import durable_engine
from switchboard.runs.dbos_engine import DbosEngine
from switchboard.runs.durable_engine import DurableEngine
from switchboard.runs.limits import RunLimits
from switchboard.runs.local_engine import LocalEngine
from switchboard.runs.ports import Execute, RunEngine

_KEPT = (
    "SELECT s.workflow_uuid, s.status, s.executor_id, i.inputs"
    " FROM workflow_status AS s JOIN workflow_input AS i USING (workflow_uuid)"
)


class TestLocalEngine(RunEngineContract):
    def make(self, home: str, execute: Execute, limits: RunLimits) -> RunEngine:
        del home
        return LocalEngine(execute, limits)


_made: list[DurableEngine] = []


def durable(home: str, execute: Execute, *, owners: FakeOwners | None = None) -> DurableEngine:
    def fail(message: str) -> None:
        raise AssertionError(message)

    made = DurableEngine(home, execute, RunLimits(), owners=owners or FakeOwners(), tell=fail)
    _made.append(made)
    return made


class TestDurableEngine(RunEngineContract):
    def make(self, home: str, execute: Execute, limits: RunLimits) -> RunEngine:
        return DurableEngine(home, execute, limits, owners=FakeOwners(), tell=lambda _: None)


def kept(home: Path) -> list[tuple[str, str, str, str]]:
    with sqlite3.connect(home / "state" / "runs-engine.db") as connection:
        return connection.execute(_KEPT).fetchall()


async def noted(home: Path, count: int) -> list[tuple[str, str, str, str]]:
    async with asyncio.timeout(20):
        while len(found := kept(home)) != count:  # noqa: ASYNC110 - DBOS tells nobody
            await asyncio.sleep(0.02)
    return found


@pytest.fixture(autouse=True)
async def closing() -> AsyncIterator[None]:
    """A process has one DBOS: what a failed test leaves must not be the next one's."""
    yield
    for engine in _made:
        await engine.aclose()
    _made.clear()


async def test_an_attempt_stands_in_the_file_of_dbos_while_it_works(tmp_path: Path) -> None:
    stage = Stage()
    engine = durable(str(tmp_path), stage.execute)
    run = a_run()
    await engine.submit(run)
    await stage.has_begun(run)
    await engine.loaded()
    [(key, status, executor, inputs)] = await noted(tmp_path, 1)
    assert (key, status, executor) == (f"{run.id}.1", "PENDING", "us")
    # JSON: what can be written by others must not be code.
    assert f'"{run.id}.1"' in inputs
    file = tmp_path / "state" / "runs-engine.db"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    stage.end(run)
    assert await noted(tmp_path, 0) == []
    await engine.aclose()


def is_loaded(engine: DurableEngine) -> bool:
    """Whether DBOS takes notes already."""
    launched = engine._launched  # pyright: ignore[reportPrivateUsage]
    return launched.done() and launched.result() is not None


async def test_the_first_run_does_not_wait_for_dbos(tmp_path: Path) -> None:
    stage = Stage()
    engine = durable(str(tmp_path), stage.execute)
    run = a_run()
    await engine.submit(run)
    await asyncio.sleep(0)
    await stage.has_begun(run)
    assert not is_loaded(engine)
    await engine.aclose()


async def test_what_a_killed_process_left_is_taken_away_and_not_executed(tmp_path: Path) -> None:
    stage, gone = Stage(), set[str]()
    killed = durable(str(tmp_path), stage.execute, owners=FakeOwners("killed", gone))
    run = a_run()
    await killed.submit(run)
    await killed.loaded()
    await noted(tmp_path, 1)
    await killed.aclose()
    # A process that is closed ends what it has. One that is killed leaves this:
    with sqlite3.connect(tmp_path / "state" / "runs-engine.db") as connection:
        connection.execute("UPDATE workflow_status SET status = 'PENDING'")
    gone.add("killed")
    again = durable(str(tmp_path), stage.execute, owners=FakeOwners("heir", gone))
    other = a_run()
    await again.submit(other)
    await again.loaded()
    assert [row[0] for row in await noted(tmp_path, 1)] == [f"{other.id}.1"]
    await again.aclose()
    assert stage.begun == [run.id, other.id]


async def test_no_connection_is_made_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBOS__CLOUD", "true")
    monkeypatch.setenv("DBOS__CONDUCTOR_KEY", "k")
    asked: list[object] = []

    def refuse(_self: socket.socket, address: object) -> None:
        asked.append(address)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    stage = Stage()
    engine = durable(str(tmp_path), stage.execute)
    await engine.submit(a_run())
    await engine.loaded()
    assert is_loaded(engine)
    await engine.aclose()
    assert asked == []


async def test_runs_go_on_where_dbos_cannot_be_had(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "runs-engine.db").mkdir()
    told: list[str] = []
    stage = Stage()
    engine = DurableEngine(
        str(tmp_path), stage.execute, RunLimits(), owners=FakeOwners(), tell=told.append
    )
    first, second = a_run(), a_run(may_write=False)
    await engine.submit(first)
    await engine.submit(second)
    await stage.has_begun(first, second)
    await engine.loaded()
    assert not is_loaded(engine)
    assert "without DBOS" in told[0]
    await engine.aclose()


async def test_a_dbos_that_does_not_come_up_keeps_nobody_from_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stuck = threading.Event()

    def launch(_engine: DbosEngine) -> None:
        stuck.wait(60)

    monkeypatch.setattr(DbosEngine, "launch", launch)
    monkeypatch.setattr(durable_engine, "_CLOSE_S", 0.1)
    engine = DurableEngine(
        str(tmp_path), Stage().execute, RunLimits(), owners=FakeOwners(), tell=lambda _: None
    )
    await engine.submit(a_run())
    async with asyncio.timeout(20):
        await engine.aclose()
    assert not is_loaded(engine)
    stuck.set()
    # It fails when nobody waits for it any more, and nobody is told of that.
    async with asyncio.timeout(20):
        await engine.loaded()
    assert not is_loaded(engine)
    del engine
    gc.collect()
    assert caplog.messages == []


async def test_an_engine_waits_for_the_dbos_of_the_last_to_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, destroy = threading.Event(), DBOS.destroy

    def destroy_later() -> None:
        slow.wait(60)
        destroy()

    first = durable(str(tmp_path / "first"), Stage().execute)
    await first.submit(a_run())
    await first.loaded()
    monkeypatch.setattr(DBOS, "destroy", destroy_later)
    monkeypatch.setattr(durable_engine, "_CLOSE_S", 0.1)
    await first.aclose()
    stage = Stage()
    second = durable(str(tmp_path / "second"), stage.execute)
    run = a_run()
    await second.submit(run)
    await stage.has_begun(run)
    assert not is_loaded(second)
    slow.set()
    await second.loaded()
    assert [row[0] for row in await noted(tmp_path / "second", 1)] == [f"{run.id}.1"]
    monkeypatch.undo()


async def test_an_engine_of_dbos_lets_go_once_and_of_its_own_alone(tmp_path: Path) -> None:
    def engine(name: str) -> DbosEngine:
        return DbosEngine(str(tmp_path / name), executor=name, tell=lambda _: None)

    first, second, never = engine("first"), engine("second"), engine("never")
    never.close()
    first.launch()
    first.close()
    second.launch()
    try:
        # What has nothing any more leaves the next its DBOS.
        first.close()
        never.close()
        await second.forget(lambda _: True)
    finally:
        second.close()
    second.close()
