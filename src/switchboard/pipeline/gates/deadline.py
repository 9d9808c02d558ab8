"""The smaller of the client's and the tool's limit."""

import asyncio
from typing import cast

from switchboard.core.calls import Call, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next


class Deadline:
    """Cancels a call that takes too long; what it was doing is told by the cancellation."""

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        limit = call.tool.policy.timeout_s
        if call.client_timeout_s is not None:
            limit = call.client_timeout_s if limit is None else min(limit, call.client_timeout_s)
        if limit is None:
            return await proceed(call)
        # What `asyncio.timeout` does, without an object and three calls on the road of every call.
        task = cast("asyncio.Task[Outcome]", asyncio.current_task())
        begun = task.cancelling()
        rung: list[bool] = []
        alarm = task.get_loop().call_later(limit, _ring, task, rung)
        try:
            return await proceed(call)
        except asyncio.CancelledError:
            # Cancelled by the alarm and by nobody else: that is a deadline, not a cancellation.
            if not rung or task.cancelling() > begun + 1:
                raise
            raise Fault(
                FaultCode.DEADLINE_EXCEEDED,
                "tool-timeout",
                f"`{call.tool.name}` did not finish within {limit:g} s",
                hint="raise `rpcTimeoutMs` for this server, or ask for less",
            ) from None
        finally:
            alarm.cancel()
            if rung:
                task.uncancel()


def _ring(task: "asyncio.Task[Outcome]", rung: list[bool]) -> None:
    rung.append(True)
    task.cancel()
