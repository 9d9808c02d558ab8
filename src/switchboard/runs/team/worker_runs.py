"""Runs as a worker of a team has them: takes them from the queue, executes and ends them.

Of a worker that is gone any other lets the runs wait again, or ends them, as each run says. One
that was out of reach for too long writes nothing any more, and has to be ended.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Events
from switchboard.postgres.notices import Notices
from switchboard.runs.durable_engine import DurableEngine
from switchboard.runs.endings import Ending, Halt, stranded, unattended
from switchboard.runs.limits import RunLimits
from switchboard.runs.ports import Execute, Worker
from switchboard.runs.run import Run
from switchboard.runs.service import RunService
from switchboard.runs.team.queue_table import TAKEN_OVER, WORK
from switchboard.runs.team.team_store import TeamRunStore

# The database tells when there is work; that a worker is gone it does not.
_LOOK_S = 1.0


class Duty(Struct, frozen=True, kw_only=True):
    """What one worker is there for."""

    queues: Sequence[str]
    # After so many seconds a run whose agent is another one here is no other worker's either.
    patience_s: float
    # And one that waits for a machine without a worker waits for nobody.
    machine_s: float


class WorkerRuns(RunService):
    """The runs of one worker. It works from `serve` on."""

    store: TeamRunStore

    def __init__(
        self,
        store: TeamRunStore,
        engine: Callable[[Execute], DurableEngine],
        *,
        events: Events,
        limits: RunLimits,
        duty: Duty,
        is_lapsed: Callable[[], bool],
    ) -> None:
        engines: list[DurableEngine] = []

        def make(execute: Execute) -> DurableEngine:
            engines.append(engine(execute))
            return engines[0]

        super().__init__(store, make, events=events, limits=limits)
        self._turns = engines[0]
        self._duty = duty
        self._is_lapsed = is_lapsed
        self._is_draining = False
        # Runs that another worker goes on with.
        self._returning: set[str] = set()
        self._woken = asyncio.Event()
        self._notices: Notices | None = None

    def attach(self, worker: Worker, /) -> Callable[[], None]:
        self._workers.append(worker)
        self._woken.set()

        def detach() -> None:
            with contextlib.suppress(ValueError):
                self._workers.remove(worker)

        return detach

    async def serve(self) -> None:
        """Take runs and do them until it is cancelled, or has lapsed. Raises a fault at first."""
        loop = asyncio.get_running_loop()

        def hear(_: str) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._woken.set)

        self._notices = await asyncio.to_thread(self.store.listen, WORK, hear)
        while not self._is_lapsed():
            self._woken.clear()
            # While the database is away there is nothing to take; its own runs go on.
            with contextlib.suppress(Fault):
                await self._look_around()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._woken.wait()

    async def drain(self) -> None:
        """Take no more, and wait for the end of what is under way."""
        self._is_draining = True
        changed = asyncio.Event()
        forget = self.follow("", lambda _: changed.set())
        try:
            while self._own and not self._is_lapsed():
                changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_S):
                        await changed.wait()
        finally:
            forget()

    async def aclose(self) -> None:
        """End what is under way. What may be taken up again waits for another worker."""
        self._is_draining = True
        if self._notices is not None:
            self._notices.close()
        self._returning |= {
            run_id for run_id, run in self._own.items() if run.spec.on_crash != "fail"
        }
        await super().aclose()

    # One round

    async def _look_around(self) -> None:
        await self.settle()
        await self._take_in_lost()
        if left := await self.store.abandoned():
            for run in left:
                await self.store.give_back(run.id)
            await self._turns.forget_gone()
        for run_id, text in await self.store.inputs():
            with contextlib.suppress(Fault):
                await self.steer(run_id, text)
        for run in await self.store.stranded(self._duty.machine_s):
            await self._refuse(run, stranded(run))
        await self._take()

    async def _take(self) -> None:
        for run, waited_s in await self.store.waiting(self._duty.queues):
            if self._is_draining:
                return
            if not any(each.workspace == run.spec.workspace for each in self._workers):
                continue
            if self._worker_of(run.spec) is None:
                if waited_s > self._duty.patience_s:
                    await self._refuse(run, unattended(run))
                continue
            if not self._turns.has_room(run):
                continue
            taken = await self.store.take(run.id, alone=not self._limits.parallel_writes)
            if taken is not None:
                await self._submit(taken)

    async def _take_in_lost(self) -> None:
        """See to runs that the database gave us while its answer was lost."""
        for run in await self.store.own():
            if run.id in self._own or self._late.get(run.id) is not None:
                continue
            if run.state == "queued" and not self._is_draining:
                await self._submit(run)
            else:
                await self.store.give_back(run.id)

    async def _claimed(self, run_id: str) -> Run | None:
        before = self._own[run_id].attempts if run_id in self._own else 0
        while True:
            try:
                return await super()._claimed(run_id)
            except Fault as fault:
                if fault.code is not FaultCode.UNAVAILABLE or self._is_lapsed():
                    raise
            # The run keeps its place until the database is back, or has given it to us already.
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(Fault):
                found = await self.store.get(run_id)
                if found is not None and found.state == "working" and found.attempts > before:
                    return found

    async def _refuse(self, run: Run, ending: Ending) -> None:
        """End a run that no worker can do."""
        taken = await self.store.take(run.id, alone=False)
        if taken is not None:
            self._own[run.id] = taken
            await self._finish(taken, ending)

    async def _finish(self, run: Run, ending: Ending) -> Run:
        if self._is_lapsed():
            return self._drop(run)
        try:
            if run.id in self._returning and ending.reason == "interrupted":
                return self._drop(await self.store.give_back(run.id) or run)
            return await super()._finish(run, ending)
        except Fault as fault:
            if fault.reason == TAKEN_OVER:
                return self._drop(run)
            raise

    async def _end_own(self, run_id: str, halt: Halt) -> Run:
        own = self._own[run_id]
        try:
            return await super()._end_own(run_id, halt)
        except Fault:
            if not self._is_lapsed():
                raise
            # Nothing can be looked up any more; its engine ends with the turns.
            return own

    def _drop(self, run: Run) -> Run:
        """A run is not ours any more."""
        self._own.pop(run.id, None)
        self._halted.pop(run.id, None)
        self._followers.tell(run)
        return run
