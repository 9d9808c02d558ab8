"""A pipe that keeps what is sent through it."""

import asyncio
import json
from typing import Any

from switchboard.wire.messages import Parts

PATIENCE = 5.0

Json = dict[str, Any]


class FakePipe:
    """The `Pipe` of a peer under test."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.reading = True
        self.closed = False
        self._news = asyncio.Event()

    def send(self, parts: Parts) -> None:
        self.sent.append(b"".join(map(bytes, parts)))
        self._news.set()

    async def has_sent(self, count: int) -> list[Json]:
        """Wait until this many messages were sent."""
        async with asyncio.timeout(PATIENCE):
            while len(self.sent) < count:
                self._news.clear()
                await self._news.wait()
        return self.messages

    def pause(self) -> None:
        self.reading = False

    def resume(self) -> None:
        self.reading = True

    def close(self) -> None:
        self.closed = True

    @property
    def messages(self) -> list[Json]:
        return [json.loads(message) for message in self.sent]
