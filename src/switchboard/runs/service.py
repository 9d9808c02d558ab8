"""Every run of a home, in one process: starts, executes, ends them, and tells who watches."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from switchboard.core.events import RunChanged, RunStarted
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet, close_all
from switchboard.core.ports import Events
from switchboard.runs.attempt import Attempt
from switchboard.runs.endings import (
    Ending,
    Halt,
    changed_since,
    crashed,
    ended_event,
    fault_ending,
    halted,
    must_end,
    unattended,
)
from switchboard.runs.followers import Followers, Tell, until_ended
from switchboard.runs.limits import RunLimits
from switchboard.runs.ports import Execute, RunEngine, RunStore, Worker
from switchboard.runs.refusals import not_working, stopping
from switchboard.runs.run import Run, RunEvent, RunSpec, new_run_id
from switchboard.runs.store.late_ends import LateEnds
from switchboard.runs.store.notebook import Notebook
from switchboard.runs.store.run_table import unknown_run
from switchboard.runs.transcripts import state_line

# Other processes change runs and tell nobody: so often we look, where that matters.
_LOOK_S = 0.5
_SWEEP_S = 3600.0
_DAY_S = 86400.0

# Makes the engine, once the service knows how runs are executed.
MakeEngine = Callable[[Execute], RunEngine]
T = TypeVar("T")


class RunService:
    """The `Runs` of a home. One for each process; the store keeps processes apart."""

    def __init__(
        self, store: RunStore, engine: MakeEngine, *, events: Events, limits: RunLimits
    ) -> None:
        self.store = store
        self._engine = engine(self._execute)
        self._events = events
        self._limits = limits
        self._workers: list[Worker] = []
        self._attempts: dict[str, Attempt] = {}
        # What this process has to execute, and has not ended yet.
        self._own: dict[str, Run] = {}
        self._late = LateEnds(store, events)
        self._halted: dict[str, Halt] = {}
        self._followers = Followers()
        # What is done to the end, though whoever asked for it may have left.
        self._tasks = TaskSet()
        # Attempts that end now. They are waited for.
        self._leaving = TaskSet()
        self._looking: asyncio.Task[Any] | None = None
        self._swept_at = -_SWEEP_S
        self._is_closed = False

    # Whoever starts, watches and ends runs

    async def start(self, spec: RunSpec, /) -> Run:
        if self._is_closed:
            raise stopping()
        run = Run(id=new_run_id(), spec=spec, state="queued", created_at=time.time())
        return await self._whole(self._start(run))

    async def get(self, run_id: str, /) -> Run:
        run = self._late.get(run_id) or await self.store.get(run_id)
        if run is None:
            raise unknown_run(run_id)
        if run.has_ended or run_id in self._own:
            return run
        await self.settle()
        return self._late.get(run_id) or await self.store.get(run_id) or run

    async def wait(self, run_id: str, /, *, within_s: float, tell: Tell | None = None) -> Run:
        def look_s() -> float:
            # Of what is executed here we hear ourselves.
            return within_s if run_id in self._own else _LOOK_S

        return await until_ended(
            run_id,
            follow=self.follow,
            look=self.get,
            look_s=look_s,
            within_s=within_s,
            tell=tell,
        )

    async def listed(self, *, workspace: str = "", last: int = 50) -> list[Run]:
        await self.settle()
        return self._late.over(await self.store.listed(workspace=workspace, last=last))

    async def unfinished(self, *, workspace: str = "") -> list[Run]:
        await self.settle()
        runs = self._late.over(await self.store.unfinished(workspace=workspace))
        return [run for run in runs if not run.has_ended]

    async def last_of_thread(self, workspace: str, thread_id: str, /) -> Run | None:
        run = await self.store.last_of_thread(workspace, thread_id)
        return run and await self.get(run.id)

    async def conversations(self) -> set[str]:
        return await self.store.conversations()

    async def transcript(self, run_id: str, /, *, after: int = 0) -> list[RunEvent]:
        if await self.store.get(run_id) is None:
            raise unknown_run(run_id)
        return await self.store.transcript(run_id, after=after)

    async def cancel(self, run_id: str, /) -> Run:
        run = await self.get(run_id)
        if not run.has_ended and run_id not in self._own:
            # The process that executes it looks for such wishes.
            await self.store.want_end(run_id)
            return await self.wait(run_id, within_s=10 * _LOOK_S)
        return run if run.has_ended else await self._whole(self._end_own(run_id, "cancelled"))

    async def steer(self, run_id: str, text: str, /) -> Run:
        run = await self.get(run_id)
        attempt = self._attempts.get(run_id)
        if attempt is None:
            raise not_working(run)
        await attempt.steer(text)
        await self.store.append(run_id, state_line("steered", text))
        return await self.get(run_id)

    async def delivered(self, run_id: str, /) -> None:
        if not self._late.delivered(run_id):
            await self._whole(self.store.update(run_id, is_delivered=True))

    async def left(self, owner: str, /) -> None:
        await self._whole(self.store.left(owner))

    def follow(self, run_id: str, tell: Tell, /) -> Callable[[], None]:
        return self._followers.add(run_id, tell)

    def attach(self, worker: Worker, /) -> Callable[[], None]:
        self._workers.append(worker)
        self._tasks.start(self._quietly(self._take_up(worker)))

        def detach() -> None:
            with contextlib.suppress(ValueError):
                self._workers.remove(worker)

        return detach

    # Whoever owns the service

    def under_way(self, workspace: str = "") -> list[Run]:
        """The runs that this process has to execute, and that have not ended on the disk."""
        runs = (*self._own.values(), *self._late.tried())
        return [run for run in runs if workspace in {"", run.spec.workspace}]

    def of_process(self, chain: Iterable[int]) -> Run | None:
        """The run whose engine a process came of, given with what it came of, nearest first."""
        engines = {attempt.pid: run_id for run_id, attempt in self._attempts.items()}
        found = next((engines[pid] for pid in chain if pid in engines), "")
        return self._own.get(found)

    async def settle(self) -> None:
        """End what a killed process left and nobody takes up, and forget what is old.

        Where nothing can be written that is for later: whoever only reads is answered.
        """
        with contextlib.suppress(Fault):
            for run in await self.store.abandoned():
                if must_end(run):
                    await self._bury(run, crashed(run))
            if time.monotonic() - self._swept_at >= _SWEEP_S:
                self._swept_at = time.monotonic()
                await self.store.sweep(time.time() - self._limits.retention_days * _DAY_S)

    async def aclose(self) -> None:
        """Interrupt every run, which says so, and let go of every file."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await close_all(self._end_own(run_id, "stopped") for run_id in tuple(self._own))
            await self._engine.aclose()
            await self._leaving.wait()
            await self._tasks.aclose()
            await self._late.aclose()
        finally:
            await self.store.aclose()

    # The life of a run

    async def _start(self, run: Run) -> Run:
        await self._late.write()
        kept = await self.store.add(run)
        if kept.id == run.id:
            spec = run.spec
            self._events.emit(
                RunStarted(
                    run_id=run.id, agent=spec.agent, engine=spec.engine, workspace=spec.workspace
                )
            )
            await self._submit(run)
        return kept

    async def _submit(self, run: Run) -> None:
        self._own[run.id] = run
        if self._looking is None or self._looking.done():
            self._looking = self._tasks.start(self._look())
        try:
            await self._engine.submit(run)
        except Fault as fault:
            await self._finish(run, fault_ending(fault))
            raise

    async def _execute(self, run_id: str) -> None:
        """One attempt, when it is the run's turn."""
        try:
            run = await self._claimed(run_id)
        except Fault as fault:
            if (own := self._own.get(run_id)) is not None:
                await self._finish(own, fault_ending(fault))
            return
        if run is None:
            return
        worker = self._worker_of(run.spec)
        if worker is None:
            await self._finish(run, unattended(run))
            return
        self._tell(run)
        notes = Notebook(run, self.store, self._tell)
        await notes.append(state_line("working", attempt=run.attempts))
        current = self._attempts[run_id] = Attempt(run, change=notes.change, append=notes.append)
        if (halt := self._halted.get(run_id)) is not None:
            current.halt(halt)
        try:
            ending = await current.to_end(worker)
        except asyncio.CancelledError:
            ending = halted(self._halted.get(run_id, "stopped"), run)
            await self._leave(run, current, ending)
            raise
        await self._leave(run, current, ending)

    async def _leave(self, run: Run, attempt: Attempt, ending: Ending) -> None:
        """Write the end down and close the attempt, both to the end whoever leaves meanwhile."""
        leaving = self._leaving.start(self._left(run, attempt, ending))
        try:
            await asyncio.shield(leaving)
        except asyncio.CancelledError:
            await asyncio.wait({leaving})
            raise

    async def _left(self, run: Run, attempt: Attempt, ending: Ending) -> None:
        # An answer does not wait for the end of the process that gave it; the next run in line
        # does. Whoever hears of another end finds nothing of the run at work.
        is_answer = ending.state == "completed"
        if not is_answer:
            await attempt.aclose()
        del self._attempts[run.id]
        try:
            await self._finish(run, ending)
        finally:
            if is_answer:
                await attempt.aclose()

    async def _claimed(self, run_id: str) -> Run | None:
        """The run, now ours to work on; nothing if it is not to be executed."""
        while run_id in self._own and run_id not in self._halted:
            # The disk may say of a run that has ended that it works in this workspace.
            await self._late.write()
            run = await self.store.claim(run_id, alone=not self._limits.parallel_writes)
            if run is not None:
                return run
            found = await self.store.get(run_id)
            if found is None or found.state != "queued":
                self._own.pop(run_id, None)
                return None
            # Another process writes in this workspace.
            await asyncio.sleep(_LOOK_S)
        return None

    async def _finish(self, run: Run, ending: Ending) -> Run:
        """Write the end down, once, and tell of it, also where it cannot be written yet."""
        known = self._own.get(run.id, run)
        changes: dict[str, Any] = {
            "state": ending.state,
            "output": ending.output,
            "reason": ending.reason,
            "ended_at": time.time(),
            "doing": "",
            "approval_id": "",
            # What was learnt on the way may not be on the disk yet.
            "thread_id": known.thread_id,
            "model": known.model,
            "usage": known.usage,
        }
        try:
            ended = await self.store.update(run.id, **changes)
        except Fault as fault:
            if fault.code is not FaultCode.UNAVAILABLE:
                raise
            ended = self._late.keep(replace(known, **changes), fault)
        was_own = self._own.pop(run.id, None) is not None
        self._halted.pop(run.id, None)
        with contextlib.suppress(Fault):
            await self.store.append(run.id, state_line(ended.state, ended.reason))
        if was_own:
            self._events.emit(ended_event(ended, ending.private))
        self._tell(ended)
        return ended

    async def _end_own(self, run_id: str, halt: Halt) -> Run:
        """End a run of this process, whether it waits or works."""
        self._halted.setdefault(run_id, halt)
        if (attempt := self._attempts.get(run_id)) is not None:
            attempt.halt(halt)
            # Its own end is bounded.
            while run_id in self._attempts:
                await self.wait(run_id, within_s=_LOOK_S)
        await self._engine.cancel(run_id)
        run = await self.get(run_id)
        return run if run.has_ended else await self._finish(run, halted(halt, run))

    # What others left

    async def _take_up(self, worker: Worker) -> None:
        await self.settle()
        for run in await self.store.abandoned():
            if run.spec.workspace != worker.workspace:
                continue
            if not worker.takes(run.spec):
                await self._bury(run, changed_since(run))
                continue
            thread_id = run.thread_id if run.spec.on_crash == "resume" else ""
            adopted = await self.store.adopt(
                run.id, state="queued", thread_id=thread_id, doing="", approval_id=""
            )
            if adopted is not None:
                await self.store.append(run.id, state_line("queued", "it was interrupted"))
                await self._submit(adopted)

    async def _bury(self, run: Run, ending: Ending) -> None:
        if (adopted := await self.store.adopt(run.id)) is not None:
            self._own[run.id] = adopted
            await self._finish(adopted, ending)

    async def _look(self) -> None:
        """See whether another process wants a run of ours to end, while there are any."""
        while self._own:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(Fault):
                for run_id in await self.store.unwanted():
                    if run_id in self._own and run_id not in self._halted:
                        self._tasks.start(self._quietly(self._end_own(run_id, "cancelled")))

    # Small things

    def _worker_of(self, spec: RunSpec) -> Worker | None:
        """The latest worker that takes it: an older one may be about to leave."""
        found = (
            each
            for each in reversed(self._workers)
            if each.workspace == spec.workspace and each.takes(spec)
        )
        return next(found, None)

    def _tell(self, run: Run) -> None:
        if run.id in self._own:
            before, self._own[run.id] = self._own[run.id], run
            if before.state != run.state:
                self._events.emit(RunChanged(run_id=run.id, state=run.state))
        self._followers.tell(run)

    async def _whole(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it to the end, also when whoever asked for it leaves half-way."""
        return await asyncio.shield(self._tasks.start(work))

    async def _quietly(self, work: Coroutine[Any, Any, object]) -> None:
        """What nobody waits for has nobody to raise a fault to; the next who asks is told."""
        with contextlib.suppress(Fault):
            await work
