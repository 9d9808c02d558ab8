"""What the call would start or reach, and where: decided once, and carried by the call."""

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any

from msgspec.structs import replace

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch
from switchboard.core.loop.begun import Begun
from switchboard.core.ports import Next, Provider
from switchboard.pipeline.gates.deadline import limit_of, too_late


class PlacementGate:
    """Asks the provider for the launch. A provider that may not run the call there refuses it."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._launch = {key: provider.launch for key, provider in providers.items()}

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        launch = self._launch[call.tool.provider](call)
        if launch is None:
            return proceed(call)
        if isinstance(launch, Launch):
            call.clock.exact = placed = replace(call, launch=launch)
            return proceed(placed)
        return self._when_known(call, launch, proceed)

    async def _when_known(
        self, call: Call, finding: Coroutine[Any, Any, Launch | None], proceed: Next
    ) -> Outcome:
        launch = await _in_time(call, finding)
        if launch is not None:
            call.clock.exact = call = replace(call, launch=launch)
        return await proceed(call)

    async def launch(self, call: Call) -> Launch | None:
        """What it would launch as things are now. To find out may take as long as the call."""
        launch = self._launch[call.tool.provider](call)
        if launch is None or isinstance(launch, Launch):
            return launch
        return await _in_time(call, launch)


async def _in_time(call: Call, finding: Coroutine[Any, Any, Launch | None]) -> Launch | None:
    """Wait for it, as long as the call may take."""
    launching = Begun(finding)
    if launching.is_done:
        # Nearly always it is: a timer would cost more than the answer.
        return launching.result
    limit = limit_of(call)
    bound = asyncio.timeout(limit)
    try:
        async with bound:
            return await launching
    except TimeoutError:
        if limit is None or not bound.expired():
            raise
        raise too_late(call, limit) from None
