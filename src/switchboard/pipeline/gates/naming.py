"""Whoever keeps a call from outside learns which one it stands for."""

from collections.abc import Awaitable

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.ports import Next


class NamingGate:
    """Puts what a call has become into the place of what it came as, wherever that is held."""

    def __init__(self, *held: dict[str, Call]) -> None:
        """`held` are calls under way, by their ids."""
        self._held = held

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        for each in self._held:
            if call.id in each:
                each[call.id] = call
        return proceed(call)
