"""Nothing but an outcome or a fault gets out, and every call is seen to begin and to end."""

import asyncio
import time
import traceback
from typing import cast

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.receipts import Calls
from switchboard.core.calls.trace_context import traceparent_in
from switchboard.core.events import CallFinished, CallStarted
from switchboard.core.faults import Fault, FaultCode, stopped_fault, without_frames
from switchboard.core.people import name_in_logs
from switchboard.core.ports import Events, Next
from switchboard.core.privacy.redacting_events import discreet_fault
from switchboard.core.privacy.secrets import NO_SECRETS, Redact


class BoundaryGate:
    """The outermost gate."""

    def __init__(
        self, events: Events, hide: Redact = NO_SECRETS, calls: Calls | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._events = events
        self._hide = hide
        self._calls = calls
        self._under_way = {} if calls is None else calls.under_way

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        self._events.emit(
            CallStarted(
                call_id=call.id,
                session_id=call.session.id,
                tool=call.tool.name,
                protocol=call.session.protocol,
                client=call.session.client,
                person=name_in_logs(call.session.person),
                traceparent=traceparent_in(call.channel.meta) if call.channel is not None else "",
            )
        )
        self._under_way[call.id] = call
        clock = call.clock
        # Whoever holds a call by its first form finds the present one there.
        clock.exact, clock.ended = call, None
        clock.owner = task = cast("asyncio.Task[Outcome]", asyncio.current_task(self._loop))
        begun = task.cancelling()
        try:
            outcome = await proceed(call)
        except Fault as fault:
            # Here, where all of them pass: what a refused call has made goes with it.
            told = without_frames(discreet_fault(fault, self._hide))
            await self._keep(call, told)
            self._finish(call, told.code, told.reason, told.private, told=told)
        except asyncio.CancelledError:
            if not clock.is_stopped or task.cancelling() > begun + 1:
                self._finish(call, FaultCode.CANCELLED, "client-cancelled")
                raise
            # By a person and by nobody else: whoever called is still there, and is told.
            task.uncancel()
            told = stopped_fault()
            await self._keep(call, told)
            self._finish(call, told.code, told.reason, told=told)
        except Exception as error:  # noqa: BLE001 - raised below, as a fault
            private = "".join(traceback.format_exception(error))
            message = "something went wrong inside Switchboard"
            hint = f"look for {call.id} in its log"
            told = Fault(FaultCode.INTERNAL, "unexpected", message, hint=hint)
            await self._keep(call, told)
            self._finish(call, told.code, told.reason, private, told=told)
            # A report of the crash names the lines.
            told.__cause__ = error
        else:
            channel = call.channel
            if channel is not None and (receipt := channel.receipt) and receipt.given_up:
                await self._keep(call, outcome)
            self._finish(call, "error" if outcome.is_error else "ok", told=outcome)
            return outcome
        # Outside of the handlers, which would make what they handled its context.
        try:
            raise told
        finally:
            # A frame that has its own fault by name keeps both of them.
            del told

    async def _keep(self, call: Call, outcome: Outcome | Fault) -> None:
        """Where the client has given up, the outcome is on disk before anybody hears of it."""
        receipt = call.channel.receipt if call.channel is not None else None
        if self._calls is not None and receipt is not None and receipt.given_up:
            await self._calls.keep(receipt, outcome)

    def _finish(
        self,
        call: Call,
        outcome: str,
        reason: str = "",
        private: str = "",
        *,
        told: Outcome | Fault | None = None,
    ) -> None:
        clock = call.clock
        # The same that the audit log says, where there is one.
        times = clock.ended or clock.times(call.began_at, time.monotonic())
        # It holds its clock itself.
        clock.exact = None
        self._under_way.pop(call.id, None)
        receipt = call.channel.receipt if call.channel is not None else None
        if receipt is not None:
            receipt.times, receipt.status, receipt.reason = times, outcome, reason
            if self._calls is not None:
                self._calls.end(receipt, told)
        self._events.emit(
            CallFinished(
                call_id=call.id,
                session_id=call.session.id,
                tool=call.tool.name,
                outcome=outcome,
                duration_s=times.queue_s + times.work_s + times.human_s,
                queue_s=times.queue_s,
                work_s=times.work_s,
                human_s=times.human_s,
                is_followed=receipt is not None and receipt.book is not None,
                reason=reason,
                person=name_in_logs(call.session.person),
                private=private,
            )
        )
