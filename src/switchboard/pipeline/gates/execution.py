"""Where the call runs."""

from msgspec.structs import replace

from switchboard.core.calls import Call, Outcome
from switchboard.core.calls import Execution as Place
from switchboard.core.ports import Next


class Execution:
    """Resolves the working directory: the session's own, else the workspace."""

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        session = call.session
        place = Place(cwd=session.cwd or session.workspace)
        return await proceed(replace(call, execution=place))
