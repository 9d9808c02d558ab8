"""A suite call becomes the exact call it stands for."""

from collections.abc import Mapping

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.events import CallNarrowed
from switchboard.core.ports import Events, Next, Provider


class NarrowingGate:
    """Asks the provider which call is really meant."""

    def __init__(self, providers: Mapping[str, Provider], events: Events) -> None:
        self._providers = providers
        self._events = events

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        narrowed = await self._providers[call.tool.provider].narrow(call)
        if narrowed.tool.provider != call.tool.provider:
            # What it stands for is another provider's, which may know it still more exactly.
            narrowed = await self._providers[narrowed.tool.provider].narrow(narrowed)
        if narrowed is not call:
            # Whatever refuses it from here on, that tool was refused.
            narrowed.clock.exact = narrowed
            self._events.emit(
                # The suite itself, also where the call came by a tool that calls any of them.
                CallNarrowed(
                    call_id=call.id,
                    suite=(narrowed.via or call.tool).name,
                    tool=narrowed.tool.name,
                )
            )
        return await proceed(narrowed)
