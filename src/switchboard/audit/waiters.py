"""Callers that wait for the log. Those of one loop share a timer, so that none pays for its own."""

import asyncio

from switchboard.audit.errors import unwritable


class Waiters:
    """The callers waiting on one loop. One that has waited too long gets a fault."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self.loop = loop
        self._seconds = seconds
        # When each has waited long enough, the earliest first.
        self._ends: dict[asyncio.Future[None], float] = {}
        self._is_watching = False

    def begin(self) -> asyncio.Future[None]:
        """Somebody begins to wait; `end` has to follow."""
        waiter: asyncio.Future[None] = self.loop.create_future()
        end = self.loop.time() + self._seconds
        self._ends[waiter] = end
        if not self._is_watching:
            self._is_watching = True
            self.loop.call_at(end, self._look)
        return waiter

    def end(self, waiter: asyncio.Future[None]) -> None:
        """It waits no longer."""
        del self._ends[waiter]

    def _look(self) -> None:
        now = self.loop.time()
        for waiter, end in self._ends.items():
            if end > now:
                self.loop.call_at(end, self._look)
                return
            if not waiter.done():
                waiter.set_exception(unwritable("another process holds it"))
        self._is_watching = False
