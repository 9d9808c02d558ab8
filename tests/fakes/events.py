"""Events that a test can look at and wait for."""

import asyncio
from typing import TypeVar

from switchboard.core.events import Event

PATIENCE = 15.0

Kind = TypeVar("Kind")


class MemoryEvents:
    """Keeps every event."""

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self._news = asyncio.Event()

    def emit(self, event: Event, /) -> None:
        self.seen.append(event)
        self._news.set()

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.seen if isinstance(event, kind)]

    async def wait_for(self, kind: type[Kind], count: int = 1) -> list[Kind]:
        """Give the events of a kind as soon as there are this many."""
        async with asyncio.timeout(PATIENCE):
            while len(found := self.of(kind)) < count:
                self._news.clear()
                await self._news.wait()
        return found
