"""Nothing but an outcome or a fault gets out, and every call is seen to begin and to end."""

import asyncio
import time
import traceback

from switchboard.core.calls import Call, Outcome
from switchboard.core.events import CallFinished, CallStarted
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Events, Next
from switchboard.core.privacy.redacting_events import discreet_fault
from switchboard.core.privacy.secrets import NO_SECRETS, Redact


class BoundaryGate:
    """The outermost gate."""

    def __init__(self, events: Events, hide: Redact = NO_SECRETS) -> None:
        self._events = events
        self._hide = hide

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        self._events.emit(
            CallStarted(
                call_id=call.id,
                session_id=call.session.id,
                tool=call.tool.name,
                protocol=call.session.protocol,
            )
        )
        began = time.monotonic()
        try:
            outcome = await proceed(call)
        except Fault as fault:
            told = discreet_fault(fault, self._hide)
            self._finish(call, began, told.code, told.reason, told.private)
            if told is fault:
                raise
            raise told from told.__cause__
        except asyncio.CancelledError:
            self._finish(call, began, FaultCode.CANCELLED, "client-cancelled")
            raise
        except Exception as error:
            private = "".join(traceback.format_exception(error))
            self._finish(call, began, FaultCode.INTERNAL, "unexpected", private)
            message = "something went wrong inside Switchboard"
            hint = f"look for {call.id} in its log"
            raise Fault(FaultCode.INTERNAL, "unexpected", message, hint=hint) from error
        self._finish(call, began, "error" if outcome.is_error else "ok")
        return outcome

    def _finish(
        self, call: Call, began: float, outcome: str, reason: str = "", private: str = ""
    ) -> None:
        self._events.emit(
            CallFinished(
                call_id=call.id,
                session_id=call.session.id,
                tool=call.tool.name,
                outcome=outcome,
                duration_s=time.monotonic() - began,
                reason=reason,
                private=private,
            )
        )
