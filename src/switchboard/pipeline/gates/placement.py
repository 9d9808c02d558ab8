"""What the call would start or reach, and where: decided once, and carried by the call."""

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace

from switchboard.core.calls import Call, Outcome
from switchboard.core.launches import Launch
from switchboard.core.loop.begun import Begun
from switchboard.core.ports import Next, Provider
from switchboard.pipeline.gates.deadline import limit_of, too_late


class PlacementGate:
    """Asks the provider for the launch. A provider that may not run the call there refuses it."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._launch = {key: provider.launch for key, provider in providers.items()}

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        # As `launch` does, without a call of it on the road of every call.
        launching = Begun(self._launch[call.tool.provider](call))
        launch = launching.result if launching.is_done else await _in_time(call, launching)
        return await proceed(call if launch is None else replace(call, launch=launch))

    async def launch(self, call: Call) -> Launch | None:
        """What it would launch as things are now. To find out may take as long as the call."""
        launching = Begun(self._launch[call.tool.provider](call))
        # Nearly always it is: a timer would cost more than the answer.
        return launching.result if launching.is_done else await _in_time(call, launching)


async def _in_time(call: Call, launching: Begun[Launch | None]) -> Launch | None:
    """Wait for it, as long as the call may take."""
    limit = limit_of(call)
    bound = asyncio.timeout(limit)
    try:
        async with bound:
            return await launching
    except TimeoutError:
        if limit is None or not bound.expired():
            raise
        raise too_late(call, limit) from None
