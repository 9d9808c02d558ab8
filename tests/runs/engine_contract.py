"""What every engine of runs keeps to: turns, limits, and that nothing is executed twice.

A test module of an engine inherits from `RunEngineContract` and says how one is made.
"""

import asyncio
from abc import ABC, abstractmethod
from pathlib import Path

import pytest

from runs.ground import PATIENCE, a_run
from switchboard.runs.limits import RunLimits
from switchboard.runs.ports import Execute, RunEngine
from switchboard.runs.run import Run


class Stage:
    """Executes what it is given until a test lets it end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        self._news = asyncio.Condition()
        self._ends: dict[str, asyncio.Event] = {}

    async def execute(self, run_id: str) -> None:
        end = self._ends.setdefault(run_id, asyncio.Event())
        async with self._news:
            self.begun.append(run_id)
            self._news.notify_all()
        try:
            await end.wait()
        except asyncio.CancelledError:
            self.cancelled.append(run_id)
            raise

    def end(self, run: Run) -> None:
        self._ends.setdefault(run.id, asyncio.Event()).set()

    async def has_begun(self, *runs: Run) -> None:
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: {run.id for run in runs} <= set(self.begun))


class RunEngineContract(ABC):
    """The tests that every engine passes."""

    @abstractmethod
    def make(self, home: str, execute: Execute, limits: RunLimits) -> RunEngine: ...

    @pytest.fixture
    def stage(self) -> Stage:
        return Stage()

    async def test_what_is_submitted_is_executed_once(self, tmp_path: Path, stage: Stage) -> None:
        engine = self.make(str(tmp_path), stage.execute, RunLimits())
        run = a_run()
        await engine.submit(run)
        await engine.submit(run)
        await stage.has_begun(run)
        stage.end(run)
        later = a_run()
        await engine.submit(later)
        await stage.has_begun(later)
        await engine.aclose()
        assert stage.begun == [run.id, later.id]

    async def test_writers_in_one_workspace_take_turns(self, tmp_path: Path, stage: Stage) -> None:
        engine = self.make(str(tmp_path), stage.execute, RunLimits())
        first, second = a_run(), a_run()
        reader, elsewhere = a_run(may_write=False), a_run(workspace="/v")
        for run in (first, second, reader, elsewhere):
            await engine.submit(run)
        await stage.has_begun(first, reader, elsewhere)
        assert second.id not in stage.begun
        stage.end(first)
        await stage.has_begun(second)
        await engine.aclose()

    async def test_writers_work_side_by_side_where_that_is_wanted(
        self, tmp_path: Path, stage: Stage
    ) -> None:
        engine = self.make(str(tmp_path), stage.execute, RunLimits(parallel_writes=True))
        runs = [a_run(), a_run()]
        for run in runs:
            await engine.submit(run)
        await stage.has_begun(*runs)
        await engine.aclose()

    async def test_no_more_work_at_once_than_allowed(self, tmp_path: Path, stage: Stage) -> None:
        limits = RunLimits(max_runs=2, max_per_engine=1)
        engine = self.make(str(tmp_path), stage.execute, limits)
        runs = [
            a_run(may_write=False, engine=name) for name in ("codex", "codex", "claude", "acp:x")
        ]
        for run in runs:
            await engine.submit(run)
        await stage.has_begun(runs[0], runs[2])
        assert len(stage.begun) == 2
        stage.end(runs[2])
        await stage.has_begun(runs[3])
        stage.end(runs[0])
        await stage.has_begun(runs[1])
        await engine.aclose()

    async def test_what_is_cancelled_before_its_turn_never_starts(
        self, tmp_path: Path, stage: Stage
    ) -> None:
        engine = self.make(str(tmp_path), stage.execute, RunLimits())
        first, second, third = a_run(), a_run(), a_run()
        for run in (first, second, third):
            await engine.submit(run)
        await stage.has_begun(first)
        await engine.cancel(second.id)
        stage.end(first)
        await stage.has_begun(third)
        await engine.aclose()
        assert second.id not in stage.begun

    async def test_what_works_is_ended_by_cancelling_it(self, tmp_path: Path, stage: Stage) -> None:
        engine = self.make(str(tmp_path), stage.execute, RunLimits())
        run, next_one = a_run(), a_run()
        await engine.submit(run)
        await engine.submit(next_one)
        await stage.has_begun(run)
        await engine.cancel(run.id)
        assert stage.cancelled == [run.id]
        await stage.has_begun(next_one)
        await engine.aclose()

    async def test_an_engine_that_is_closed_executes_nothing_more(
        self, tmp_path: Path, stage: Stage
    ) -> None:
        engine = self.make(str(tmp_path), stage.execute, RunLimits())
        first, second = a_run(), a_run()
        await engine.submit(first)
        await engine.submit(second)
        await stage.has_begun(first)
        await engine.aclose()
        assert stage.cancelled == [first.id]
        assert stage.begun == [first.id]
