"""What the call would start or reach, and where: decided once, and carried by the call."""

from collections.abc import Mapping

from msgspec.structs import replace

from switchboard.core.calls import Call, Outcome
from switchboard.core.ports import Next, Provider


class PlacementGate:
    """Asks the provider for the launch. A provider that may not run the call there refuses it."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._launch = {key: provider.launch for key, provider in providers.items()}

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        launch = await self._launch[call.tool.provider](call)
        return await proceed(call if launch is None else replace(call, launch=launch))
