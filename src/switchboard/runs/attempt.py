"""One attempt at a run: drives the work to its end, whatever the engine does."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import msgspec
from msgspec.structs import replace

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.engines.events import EngineEvent, Opened, TextDelta, TokenUsage, TurnEnded
from switchboard.runs.doing import doing_of
from switchboard.runs.endings import (
    Ending,
    Halt,
    fault_ending,
    halted,
    turn_ending,
    unexpected_ending,
)
from switchboard.runs.ports import Work, Worker
from switchboard.runs.run import Run
from switchboard.runs.transcripts import state_line
from switchboard.runs.work_clock import WorkClock

# How long an engine may take to end by itself once it was interrupted, and to be closed.
_GRACE_S = 5.0
_CLOSE_S = 15.0
_read_event = msgspec.json.Decoder(EngineEvent).decode

# Writes down what changed of the run.
Change = Callable[..., Awaitable[Run]]
# Adds a line to its transcript.
Append = Callable[[str], Awaitable[object]]


class Attempt:
    """The work on one run in this process."""

    def __init__(self, run: Run, *, change: Change, append: Append) -> None:
        self._run = run
        self._change = change
        self._append = append
        self._work: Work | None = None
        self._end: TurnEnded | None = None
        self._questions: list[str] = []
        # What is written down by who cannot wait for it.
        self._notes = TaskSet()
        self._halt: asyncio.Future[Halt] = asyncio.get_running_loop().create_future()
        self._clock = WorkClock(run.spec.limit_s, lambda: self.halt("time-limit"))

    @property
    def pid(self) -> int:
        """The process of the engine; 0 while there is none."""
        return self._work.pid if self._work is not None else 0

    async def to_end(self, worker: Worker) -> Ending:
        """Work until the end. Raises nothing but its own cancellation. Then it has to be closed."""
        try:
            self._work = worker.work(self._run, self._asking)
            return await self._worked(self._work)
        except Fault as fault:
            return fault_ending(fault)
        except Exception as error:  # noqa: BLE001 - the run ends, and the daemon goes on
            return unexpected_ending(error)
        finally:
            self._clock.stop()

    async def aclose(self) -> None:
        """End what the work still holds, the engine's process above all. It is bounded."""
        work, self._work = self._work, None
        if work is not None:
            await _bounded(work.aclose(), _CLOSE_S)
        await self._notes.wait()

    def halt(self, why: Halt) -> None:
        """Have it end. The first who says so gives the reason."""
        if not self._halt.done():
            self._halt.set_result(why)

    async def steer(self, text: str) -> None:
        """More input while it works. Raises a fault where that cannot be."""
        if self._work is None or self._halt.done() or self._end is not None:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "run-not-working",
                f"run {self._run.id} does not take input now",
                hint=f"switchboard runs show {self._run.id}",
            )
        await self._work.steer(text)

    async def _worked(self, work: Work) -> Ending:
        async with TaskSet() as tasks:
            listening = tasks.start(self._listen(work))
            self._clock.start()
            await asyncio.wait({listening, self._halt}, return_when=asyncio.FIRST_COMPLETED)
            if not listening.done():
                await _bounded(work.cancel(), _GRACE_S)
                await asyncio.wait({listening}, timeout=_GRACE_S)
                # What it still answered in time counts.
                if self._end is None or self._end.status != "completed":
                    return halted(self._halt.result(), self._run)
            else:
                listening.result()
        turn = self._end or TurnEnded(status="failed")
        if turn.status == "interrupted" and self._halt.done():
            return halted(self._halt.result(), self._run)
        return turn_ending(turn, self._run)

    async def _listen(self, work: Work) -> None:
        async for line in work.events():
            try:
                event = _read_event(line)
            except msgspec.MsgspecError:
                # What we have no word for is kept for who reads the transcript.
                await self._append(line)
                continue
            if isinstance(event, TextDelta):
                # The whole message comes, too.
                continue
            if isinstance(event, TurnEnded):
                self._end = event
                await self._append(_without_private(event))
                continue
            await self._append(line)
            if changes := _changes(event):
                await self._change(**changes)

    @contextlib.contextmanager
    def _asking(self, approval_id: str) -> Generator[None]:
        """A person is asked: time stands still, and whoever looks sees why."""
        self._questions.append(approval_id)
        self._clock.pause()
        self._note_state()
        try:
            yield
        finally:
            self._questions.remove(approval_id)
            self._clock.resume()
            self._note_state()

    def _note_state(self) -> None:
        asked = self._questions[-1] if self._questions else ""
        state = "asking" if asked else "working"
        self._notes.start(self._write_state(state, asked))

    async def _write_state(self, state: str, asked: str) -> None:
        # In the order in which they began: both hand their work to one thread.
        await asyncio.gather(
            self._change(state=state, approval_id=asked), self._append(state_line(state, asked))
        )


def _changes(event: EngineEvent) -> dict[str, Any]:
    """What an event changes of the run."""
    changes: dict[str, Any] = {}
    if doing := doing_of(event):
        changes["doing"] = doing
    if isinstance(event, Opened):
        changes["thread_id"] = event.thread_id
        if event.model:
            changes["model"] = event.model
    elif isinstance(event, TokenUsage):
        changes["usage"] = event
    return changes


def _without_private(event: TurnEnded) -> str:
    """The last line without the engine's own words for its failure."""
    if event.failure is not None and event.failure.private:
        event = replace(event, failure=replace(event.failure, private=""))
    return msgspec.json.encode(event).decode()


async def _bounded(work: Awaitable[object], within_s: float) -> None:
    """Wait for it, not for ever; it has nobody to tell of a failure."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(within_s):
            await work
