"""What is about to run is written down first, and how it went afterwards."""

import asyncio

from switchboard.core.calls import Call, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Audit as Log
from switchboard.core.ports import Next
from switchboard.pipeline.call_records import CallRecords, figures_in, finished, size_of


class Audit:
    """A call with side effects waits until its record is on disk; without one it does not run."""

    def __init__(self, log: Log, records: CallRecords) -> None:
        self._log = log
        self._records = records
        # Calls whose end is written down here, so that nobody else does it again.
        self.told: set[str] = set()

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        begun = self._records.started(call)
        if begun.side_effects:
            await self._log.append(begun)
        else:
            self._log.post(begun)
        try:
            outcome = await proceed(call)
        except Fault as fault:
            figures = figures_in(fault.details)
            self.told.add(call.id)
            self._log.post(finished(begun, fault.code, reason=fault.reason, figures=figures))
            raise
        except asyncio.CancelledError:
            self._log.post(finished(begun, FaultCode.CANCELLED, reason="client-cancelled"))
            raise
        except Exception:
            self._log.post(finished(begun, FaultCode.INTERNAL, reason="unexpected"))
            raise
        status = "tool_error" if outcome.is_error else "ok"
        self._log.post(
            finished(begun, status, figures=outcome.figures, result_bytes=size_of(outcome))
        )
        return outcome
