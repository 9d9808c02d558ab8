"""What is about to run is written down first, and how it went afterwards."""

import asyncio
import time
from functools import partial

from msgspec import Struct

from switchboard.core.audit import AuditRecord
from switchboard.core.calls.call import Call, Figures, Interrupted, Outcome
from switchboard.core.calls.clock import CallTimes
from switchboard.core.faults import STOPPED, Fault, FaultCode
from switchboard.core.loop.timers import Timers
from switchboard.core.ports import Next
from switchboard.core.stores import AuditStore
from switchboard.core.text.tokens import estimated_tokens
from switchboard.pipeline.call_records import (
    CallRecords,
    ending_of,
    figures_in,
    finished,
    tokens_of,
)

# A call that changes nothing and is over by then is one record, not two.
_SOON_S = 0.15


class AuditGates:
    """Two gates with one log: the outer one writes how calls end, the inner one that they begin.

    A call that begins is one that every gate let pass. One with side effects waits until its record
    is on disk; without one it does not run.
    """

    def __init__(self, log: AuditStore) -> None:
        self._log = log
        self._records = CallRecords(log)
        self._loop = asyncio.get_running_loop()
        # Calls that change nothing and began a moment ago.
        self._short = Timers(self._loop, self._still_runs)
        # The calls that have begun, by their ids.
        self._running: dict[str, _Running] = {}

    async def ends(self, call: Call, proceed: Next, /) -> Outcome:
        """The outer gate. A call that never began was refused; the client is told its id."""
        try:
            outcome = await proceed(call)
        except Fault as fault:
            if call.id in self._running:
                self._end(call, fault.code, fault.reason, figures_in(fault.details))
            else:
                exact = call.clock.exact or call
                times = call.clock.times(call.began_at, time.monotonic())
                self._log.post(partial(self._records.refused, exact, fault, time.time_ns(), times))
            raise
        except asyncio.CancelledError as cancelled:
            figures = figures_in(cancelled.details) if isinstance(cancelled, Interrupted) else None
            reason = STOPPED if call.clock.is_stopped else "client-cancelled"
            self._end(call, FaultCode.CANCELLED, reason, figures)
            raise
        except Exception:
            self._end(call, FaultCode.INTERNAL, "unexpected")
            raise
        if outcome.repeats:
            self._log.post(partial(self._records.repeated, call, outcome.repeats, time.time_ns()))
            return outcome
        status = "tool_error" if outcome.is_error else "ok"
        self._end(call, status, "", outcome.figures, outcome)
        return outcome

    async def begins(self, call: Call, proceed: Next, /) -> Outcome:
        """The inner gate. Of several calls in one, each is written down, and nothing else."""
        if call.is_bundle:
            return await proceed(call)
        running = _Running(self._records, call, time.time_ns())
        if call.tool.effects.read_only is True:
            self._short[_SOON_S][running] = self._loop.time() + _SOON_S
        else:
            await self._log.append(running.started)
        self._running[call.id] = running
        return await proceed(call)

    def _end(
        self,
        call: Call,
        status: str,
        reason: str,
        figures: Figures | None = None,
        outcome: Outcome | None = None,
    ) -> None:
        running = self._running.pop(call.id, None)
        if running is None:
            return
        if (short := self._short.get(_SOON_S)) is not None:
            short.pop(running, None)
        running.ended = time.time_ns()
        clock = call.clock
        running.times = clock.ended = clock.times(call.began_at, time.monotonic())
        running.status = status
        running.reason = reason
        running.figures = figures
        running.outcome = outcome
        self._log.post(running.finished)

    def _still_runs(self, running: "_Running") -> None:
        self._log.post(running.started)


class _Running(Struct, eq=False):
    """A call under way, how it ended, and its first record once there is one.

    Its records are made when they are written, by another thread.
    """

    records: CallRecords
    call: Call
    began: int
    record: AuditRecord | None = None
    ended: int = 0
    times: CallTimes | None = None
    status: str = ""
    reason: str = ""
    figures: Figures | None = None
    # Until it is written down, when its client has it already.
    outcome: Outcome | None = None

    def started(self) -> AuditRecord:
        if self.record is None:
            self.record = self.records.started(self.call, self.began)
        return self.record

    def finished(self) -> AuditRecord:
        outcome, self.outcome = self.outcome, None
        tokens = None
        if outcome is not None:
            tokens = (estimated_tokens(bytes(self.call.arguments)), tokens_of(outcome))
        ending = ending_of(
            self.ended,
            self.status,
            reason=self.reason,
            figures=self.figures,
            result_bytes=None if outcome is None else outcome.size,
            tokens=tokens,
            times=self.times,
        )
        if self.record is None:
            return self.records.finished(self.call, self.began, self.ended, ending)
        return finished(self.record, self.ended, ending)
