"""How much one session may have under way."""

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next

MAX_CALLS_PER_SESSION = 1_024


class LimitsGate:
    """Counts the calls of each session."""

    def __init__(self, most: int = MAX_CALLS_PER_SESSION) -> None:
        self._most = most
        self._under_way: dict[str, int] = {}

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        session = call.session.id
        count = self._under_way.get(session, 0)
        if count >= self._most:
            raise Fault(
                FaultCode.RESOURCE_EXHAUSTED,
                "too-many-calls",
                f"this session has {count} calls under way",
                hint="wait for some of them to end",
            )
        self._under_way[session] = count + 1
        try:
            return await proceed(call)
        finally:
            left = self._under_way[session] - 1
            if left:
                self._under_way[session] = left
            else:
                del self._under_way[session]
