"""What is about to run is written down first, and how it went afterwards."""

import asyncio
import time

from msgspec import Struct

from switchboard.core.audit import AuditRecord
from switchboard.core.calls import Call, Figures, Interrupted, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import CallAudit, Next
from switchboard.core.timers import Timers
from switchboard.pipeline.call_records import CallRecords, figures_in, finished, size_of

# A call that changes nothing and is over by then is one record, not two.
_SOON_S = 0.15


class Audit:
    """A call with side effects waits until its record is on disk; without one it does not run."""

    def __init__(self, log: CallAudit, records: CallRecords) -> None:
        self._log = log
        self._records = records
        self._loop = asyncio.get_running_loop()
        # Calls that change nothing and began a moment ago.
        self._short = Timers(self._loop, self._still_runs)
        # Calls whose end is written down here, so that nobody else does it again.
        self.told: set[str] = set()

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        running = _Running(self._records, call, time.time_ns())
        short = self._short[_SOON_S] if call.tool.effects.read_only is True else None
        if short is not None:
            short[running] = self._loop.time() + _SOON_S
        else:
            await self._log.append(running.started())
        try:
            outcome = await proceed(call)
        except Fault as fault:
            self.told.add(call.id)
            self._end(running, fault.code, fault.reason, figures_in(fault.details))
            raise
        except asyncio.CancelledError as cancelled:
            figures = figures_in(cancelled.details) if isinstance(cancelled, Interrupted) else None
            self._end(running, FaultCode.CANCELLED, "client-cancelled", figures)
            raise
        except Exception:
            self._end(running, FaultCode.INTERNAL, "unexpected")
            raise
        finally:
            if short is not None:
                short.pop(running, None)
        running.result_bytes = size_of(outcome)
        self._end(running, "tool_error" if outcome.is_error else "ok", "", outcome.figures)
        return outcome

    def _end(
        self, running: "_Running", status: str, reason: str, figures: Figures | None = None
    ) -> None:
        running.ended = time.time_ns()
        running.status = status
        running.reason = reason
        running.figures = figures
        self._log.note(running.finished)

    def _still_runs(self, running: "_Running") -> None:
        self._log.note(running.started)


class _Running(Struct, eq=False):
    """A call under way, how it ended, and its first record once there is one.

    Its records are made when they are written, by another thread.
    """

    records: CallRecords
    call: Call
    began: int
    record: AuditRecord | None = None
    ended: int = 0
    status: str = ""
    reason: str = ""
    figures: Figures | None = None
    result_bytes: int | None = None

    def started(self) -> AuditRecord:
        if self.record is None:
            self.record = self.records.started(self.call, self.began)
        return self.record

    def finished(self) -> AuditRecord:
        return finished(
            self.started(),
            self.ended,
            self.status,
            reason=self.reason,
            figures=self.figures,
            result_bytes=self.result_bytes,
        )
