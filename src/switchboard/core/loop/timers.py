"""One timer of the loop for many who wait equally long: nobody pays for a timer of its own."""

import asyncio
from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

# A loop may ring a moment early.
EARLY_S = 0.001


class Timers(dict[float, dict[T, float]]):
    """Who waits for how long: `timers[60.0]` holds those who wait a minute.

    Whoever begins to wait is put in there with the time at which that minute is over, and taken
    out when they wait no longer. Both are operations of a plain dictionary, so that a call pays
    no frame for them. Those who are due are taken out and handed to `on_due`, which must not raise.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, on_due: Callable[[T], None]) -> None:
        super().__init__()
        self.loop = loop
        self._on_due = on_due

    def __missing__(self, seconds: float) -> dict[T, float]:
        waiting: dict[T, float] = {}
        self[seconds] = waiting
        self.loop.call_later(seconds, self._look, seconds)
        return waiting

    def _look(self, seconds: float) -> None:
        """Hand over who is due, and look again when the next one is."""
        waiting = self[seconds]
        now = self.loop.time()
        while waiting:
            # Those who wait equally long are due in the order in which they came.
            first = next(iter(waiting))
            due = waiting[first]
            if due - now > EARLY_S:
                self.loop.call_at(due, self._look, seconds)
                return
            del waiting[first]
            self._on_due(first)
        # A limit is kept only while somebody waits for it: clients choose limits of their own.
        del self[seconds]
