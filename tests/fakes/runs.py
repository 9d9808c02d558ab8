"""Runs in memory, executed at once: the port of runs without a store and an engine of its own."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.events import Opened, TokenUsage, TurnEnded
from switchboard.engines.failures import sentence
from switchboard.runs.ports import Work, Worker
from switchboard.runs.run import Run, RunEvent, RunSpec, new_run_id


class MemoryRuns:
    """Keeps to the port: started once for the same undelivered request, ended once."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.events: dict[str, list[RunEvent]] = {}
        self.workers: list[Worker] = []
        self.asked: list[str] = []
        self.cancelled: list[str] = []
        self.gone: list[str] = []
        self._work: dict[str, Work] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._followers: list[tuple[str, Callable[[Run], None]]] = []

    async def start(self, spec: RunSpec, /) -> Run:
        for run in self.runs.values():
            is_same = spec.request_key and run.spec.request_key == spec.request_key
            if is_same and not run.is_delivered:
                return run
        run = Run(id=new_run_id(), spec=spec, state="queued", created_at=1.0)
        self.runs[run.id] = run
        self.events[run.id] = []
        self._tasks[run.id] = asyncio.get_running_loop().create_task(self._execute(run.id))
        return run

    async def _execute(self, run_id: str) -> None:
        run = self._set(run_id, state="working", attempts=1, started_at=1.0)
        worker = next((each for each in self.workers if each.takes(run.spec)), None)
        if worker is None:
            self._set(run_id, state="failed", output="nobody takes it", reason="agent-changed")
            return
        work = self._work[run_id] = worker.work(run, lambda each: self._asking(run_id, each))
        try:
            async for data in work.events():
                self._note(run_id, data)
        except Fault as fault:
            said = f"{fault.message}; {fault.hint}" if fault.hint else fault.message
            self._set(run_id, state="failed", output=said, reason=fault.reason)
        except Exception as error:
            # A test that waits for the end must see it.
            self._set(run_id, state="failed", output=repr(error), reason="unexpected")
            raise
        finally:
            await work.aclose()

    def _note(self, run_id: str, data: str) -> None:
        number = len(self.events[run_id]) + 1
        self.events[run_id].append(RunEvent(run_id=run_id, number=number, at=1.0, data=data))
        kind = msgspec.json.decode(data)["event"]
        if kind == "opened":
            opened = msgspec.json.decode(data, type=Opened)
            self._set(run_id, thread_id=opened.thread_id, model=opened.model)
        elif kind == "usage":
            self._set(run_id, usage=msgspec.json.decode(data, type=TokenUsage))
        elif kind == "command":
            self._set(run_id, doing=f"runs {msgspec.json.decode(data)['command']}")
        elif kind == "turn-ended":
            self._end(run_id, msgspec.json.decode(data, type=TurnEnded))

    def _end(self, run_id: str, turn: TurnEnded) -> None:
        if turn.status == "completed":
            self._set(run_id, state="completed", output=turn.text)
        elif turn.status == "interrupted":
            self._set(run_id, state="cancelled", output="the run was cancelled")
        elif turn.failure is not None:
            said = sentence(turn.failure, self.runs[run_id].spec.engine)
            self._set(run_id, state="failed", output=said, reason=turn.failure.kind)

    @contextmanager
    def _asking(self, run_id: str, approval_id: str) -> Generator[None]:
        self.asked.append(approval_id)
        self._set(run_id, state="asking", approval_id=approval_id)
        try:
            yield
        finally:
            self._set(run_id, state="working", approval_id="")

    def _set(self, run_id: str, **changes: Any) -> Run:
        run = self.runs[run_id]
        if not run.has_ended or set(changes) == {"is_delivered"}:
            run = self.runs[run_id] = replace(run, **changes)
            for which, tell in tuple(self._followers):
                if which in ("", run_id):
                    tell(run)
        return run

    async def get(self, run_id: str, /) -> Run:
        if run_id not in self.runs:
            raise Fault(FaultCode.NOT_FOUND, "unknown-run", f"no run {run_id}")
        return self.runs[run_id]

    async def wait(
        self, run_id: str, /, *, within_s: float, tell: Callable[[Run], None] | None = None
    ) -> Run:
        ended = asyncio.Event()

        def heard(run: Run) -> None:
            if tell is not None:
                tell(run)
            if run.has_ended:
                ended.set()

        stop = self.follow(run_id, heard)
        try:
            if not self.runs[run_id].has_ended:
                async with asyncio.timeout(within_s):
                    await ended.wait()
        except TimeoutError:
            pass
        finally:
            stop()
        return self.runs[run_id]

    async def listed(self, *, workspace: str = "", last: int = 50) -> list[Run]:
        found = [run for run in self.runs.values() if run.spec.workspace == workspace]
        return found[::-1][:last]

    async def unfinished(self, *, workspace: str = "") -> list[Run]:
        return [
            run
            for run in self.runs.values()
            if not run.has_ended and workspace in {"", run.spec.workspace}
        ]

    async def last_of_thread(self, workspace: str, thread_id: str, /) -> Run | None:
        of_thread = (
            run
            for run in reversed(self.runs.values())
            if run.spec.workspace == workspace and thread_id in {run.thread_id, run.spec.resumes}
        )
        return next(of_thread, None)

    async def conversations(self) -> set[str]:
        specs = [run.spec for run in self.runs.values()]
        replied = {name for spec in specs for name in (spec.conversation, spec.replies_to) if name}
        return replied | set(self.runs)

    async def transcript(self, run_id: str, /, *, after: int = 0) -> list[RunEvent]:
        return [event for event in self.events[run_id] if event.number > after]

    async def cancel(self, run_id: str, /) -> Run:
        self.cancelled.append(run_id)
        if work := self._work.get(run_id):
            await work.cancel()
        return await self.wait(run_id, within_s=10)

    async def steer(self, run_id: str, text: str, /) -> Run:
        await self._work[run_id].steer(text)
        return self.runs[run_id]

    async def delivered(self, run_id: str, /) -> None:
        self._set(run_id, is_delivered=True)

    async def left(self, owner: str, /) -> None:
        self.gone.append(owner)

    def follow(self, run_id: str, tell: Callable[[Run], None], /) -> Callable[[], None]:
        entry = (run_id, tell)
        self._followers.append(entry)
        return lambda: self._followers.remove(entry)

    def attach(self, worker: Worker, /) -> Callable[[], None]:
        self.workers.append(worker)
        return lambda: self.workers.remove(worker)

    async def aclose(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
