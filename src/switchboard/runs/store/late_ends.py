"""Ends of runs that could not be written, on a full disk: known here, and written when it goes."""

import asyncio
import contextlib
from collections.abc import Iterable

from msgspec.structs import replace

from switchboard.core.events import RunUnwritten, RunWritten
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Events
from switchboard.runs.ports import RunStore
from switchboard.runs.run import Run
from switchboard.runs.transcripts import state_line

# Tried again after so long, each time twice as long, and in all for an hour. Later with the next
# run and at the end of the process.
_FIRST_S = 1.0
_LONGEST_S = 60.0
_IN_ALL_S = 3600.0
# What this process may know better than the disk.
_KNOWN = (
    *("state", "output", "reason", "doing", "approval_id", "started_at", "ended_at", "attempts"),
    *("thread_id", "model", "usage", "is_delivered"),
)


class LateEnds:
    """Runs that have ended, though not yet on the disk. A killed process takes them with it."""

    def __init__(self, store: RunStore, events: Events) -> None:
        self._store = store
        self._events = events
        self._runs: dict[str, Run] = {}
        self._tasks = TaskSet()
        self._trying: asyncio.Task[None] | None = None

    def get(self, run_id: str) -> Run | None:
        """The run, where its end is known here alone."""
        return self._runs.get(run_id)

    def tried(self) -> tuple[Run, ...]:
        """What is still tried: the process has to stay for it."""
        is_trying = self._trying is not None and not self._trying.done()
        return tuple(self._runs.values()) if is_trying else ()

    def over(self, runs: Iterable[Run]) -> list[Run]:
        """Runs as the disk has them, but for those whose end is known here alone."""
        return [self._runs.get(run.id, run) for run in runs]

    def keep(self, run: Run, fault: Fault) -> Run:
        """Keep the end of a run that a fault kept from the disk."""
        kept = self._runs[run.id] = replace(run, is_unwritten=True)
        self._events.emit(RunUnwritten(run_id=run.id, message=fault.private or fault.message))
        if self._trying is None or self._trying.done():
            self._trying = self._tasks.start(self._try())
        return kept

    def delivered(self, run_id: str) -> bool:
        """Note that the answer reached a client. False if the run is none of these."""
        run = self._runs.get(run_id)
        if run is not None:
            self._runs[run_id] = replace(run, is_delivered=True)
        return run is not None

    async def write(self) -> None:
        """Write what there is, as far as that is possible now."""
        for run in tuple(self._runs.values()):
            try:
                await self._store.update(run.id, **{name: getattr(run, name) for name in _KNOWN})
            except Fault as fault:
                if fault.code is FaultCode.UNAVAILABLE:
                    return
            # It may have been delivered meanwhile; then it is written once more.
            if self._runs.get(run.id) is run:
                del self._runs[run.id]
                with contextlib.suppress(Fault):
                    await self._store.append(run.id, state_line(run.state, run.reason))
                self._events.emit(RunWritten(run_id=run.id))

    async def aclose(self) -> None:
        """Try a last time."""
        await self._tasks.aclose()
        await self.write()

    async def _try(self) -> None:
        pause_s, spent_s = _FIRST_S, 0.0
        while self._runs and spent_s < _IN_ALL_S:
            await asyncio.sleep(pause_s)
            spent_s += pause_s
            pause_s = min(2 * pause_s, _LONGEST_S)
            await self.write()
