"""The turns of runs in one process: who may work now, who waits. It remembers nothing on disk."""

import asyncio
import contextlib
from collections import Counter

from switchboard.core.loop.tasks import TaskSet
from switchboard.runs.limits import RunLimits
from switchboard.runs.ports import Execute
from switchboard.runs.run import Run


class LocalEngine:
    """The `RunEngine` of a process that need not outlive itself, and of every other one inside."""

    def __init__(self, execute: Execute, limits: RunLimits) -> None:
        self._execute = execute
        self._limits = limits
        self._waiting: dict[str, Run] = {}
        self._working: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._tasks = TaskSet()
        self._is_closed = False

    async def submit(self, run: Run, /) -> None:
        if run.id not in self._waiting and run.id not in self._working:
            self._waiting[run.id] = run
            self._let_in()

    async def cancel(self, run_id: str, /) -> None:
        self._waiting.pop(run_id, None)
        if (found := self._working.get(run_id)) is not None:
            found[1].cancel()
            await asyncio.wait({found[1]})

    async def ended(self, run_id: str) -> None:
        """Wait until a run neither waits nor works here any more."""
        while run_id in self._waiting or run_id in self._working:
            if (found := self._working.get(run_id)) is not None:
                await asyncio.wait({found[1]})
            else:
                # Its turn comes when another one ends.
                others = {task for _, task in self._working.values()}
                await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)

    async def aclose(self) -> None:
        self._is_closed = True
        self._waiting.clear()
        await self._tasks.aclose()

    def _let_in(self) -> None:
        """Let work who may, in the order of their coming; who may not yet holds up no other."""
        if self._is_closed:
            return
        for run in tuple(self._waiting.values()):
            if self.has_room(run):
                del self._waiting[run.id]
                self._working[run.id] = (run, self._tasks.start(self._turn(run)))

    def has_room(self, run: Run) -> bool:
        """Whether it would work at once."""
        limits, working = self._limits, [run for run, _ in self._working.values()]
        if run.spec.replies_to in self._working:
            # It has answered, and its engine still writes down what was said.
            return False
        if run.spec.depth:
            # Those above it wait for it, and would wait for ever if it waited for them.
            working = [each for each in working if each.spec.depth >= run.spec.depth]
        if len(working) >= limits.max_runs:
            return False
        engines = Counter(each.spec.engine for each in working)
        workspaces = Counter(each.spec.workspace for each in working)
        if engines[run.spec.engine] >= limits.max_per_engine:
            return False
        if workspaces[run.spec.workspace] >= limits.max_per_workspace:
            return False
        return (
            limits.parallel_writes
            or not run.spec.may_write
            or not any(
                each.spec.may_write and each.spec.workspace == run.spec.workspace
                for each in working
            )
        )

    async def _turn(self, run: Run) -> None:
        try:
            # A failure is the run's own, which it was told of.
            with contextlib.suppress(Exception):
                await self._execute(run.id)
        finally:
            del self._working[run.id]
            self._let_in()
