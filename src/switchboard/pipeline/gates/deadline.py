"""The smaller of the client's and the tool's limit."""

import asyncio

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
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                return await proceed(call)
        except TimeoutError:
            if not scope.expired():
                raise
            raise Fault(
                FaultCode.DEADLINE_EXCEEDED,
                "tool-timeout",
                f"`{call.tool.name}` did not finish within {limit:g} s",
                hint="raise `rpcTimeoutMs` for this server, or ask for less",
            ) from None
