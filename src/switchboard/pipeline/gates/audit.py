"""What is about to run is written down first, and how it went afterwards."""

import asyncio

from switchboard.core.audit import AuditRecord
from switchboard.core.calls import Call, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Audit as Log
from switchboard.core.ports import Next
from switchboard.pipeline.call_records import CallRecords, figures_in, finished, size_of

# A call that changes nothing and is over by then is one record, not two.
_SOON_S = 0.15


class Audit:
    """A call with side effects waits until its record is on disk; without one it does not run."""

    def __init__(self, log: Log, records: CallRecords) -> None:
        self._log = log
        self._records = records
        self._short = _ShortCalls(log)
        # Calls whose end is written down here, so that nobody else does it again.
        self.told: set[str] = set()

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        begun = self._records.started(call)
        if begun.side_effects:
            await self._log.append(begun)
        else:
            self._short.began(begun)
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
        finally:
            if not begun.side_effects:
                self._short.ended(begun)
        status = "tool_error" if outcome.is_error else "ok"
        self._log.post(
            finished(begun, status, figures=outcome.figures, result_bytes=size_of(outcome))
        )
        return outcome


class _ShortCalls:
    """Calls that change nothing and began a moment ago. One timer for all: a call pays little."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._new: dict[int, AuditRecord] = {}
        self._old: dict[int, AuditRecord] = {}
        self._is_watching = False

    def began(self, begun: AuditRecord) -> None:
        """A call runs; if it still does after a while, that is written down."""
        self._new[id(begun)] = begun
        if not self._is_watching:
            self._is_watching = True
            asyncio.get_running_loop().call_later(_SOON_S, self._look)

    def ended(self, begun: AuditRecord) -> None:
        """Its end is all that needs to be written, if it came soon."""
        if self._new.pop(id(begun), None) is None:
            self._old.pop(id(begun), None)

    def _look(self) -> None:
        for begun in self._old.values():
            self._log.post(begun)
        self._old, self._new = self._new, {}
        self._is_watching = bool(self._old)
        if self._is_watching:
            asyncio.get_running_loop().call_later(_SOON_S, self._look)
