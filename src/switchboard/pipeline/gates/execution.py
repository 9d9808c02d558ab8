"""Where the call runs."""

from collections.abc import Awaitable, Mapping

from msgspec.structs import replace

from switchboard.core.calls import Call, Outcome
from switchboard.core.calls import Execution as Place
from switchboard.core.ports import Next, Placing, Provider


class Execution:
    """Resolves where a call runs, and refuses it where it may not.

    The provider says so where it knows better than that it is the session's own directory, or
    else the workspace.
    """

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._placing = {
            key: provider.place
            for key, provider in providers.items()
            if isinstance(provider, Placing)
        }

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        place = self._placing.get(call.tool.provider)
        session = call.session
        where = place(call) if place else Place(cwd=session.cwd or session.workspace)
        return proceed(replace(call, execution=where))
