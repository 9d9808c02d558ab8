"""The channel of one call among several that a client has made with one request."""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from switchboard.core.channel import Ask, Channel, Input
from switchboard.core.clock import Clock


class PartChannel:
    """Leads where the channel of the request leads. Only the time is the call's own."""

    def __init__(self, channel: Channel, clock: Clock) -> None:
        self._channel = channel
        self._clock = clock

    @property
    def session_id(self) -> str:
        return self._channel.session_id

    @property
    def holder(self) -> str:
        return self._channel.holder

    @property
    def request_id(self) -> Any:
        return self._channel.request_id

    @property
    def declared(self) -> bytes:
        return self._channel.declared

    @property
    def meta(self) -> bytes:
        return self._channel.meta

    @property
    def log_level(self) -> str:
        return self._channel.log_level

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """A sign of life. How far one of several has come is not how far the request has."""
        del done, total, message
        self._clock.touch()

    def progress(self, params: Raw) -> None:
        del params
        self._clock.touch()

    def log(self, level: str, params: bytes) -> None:
        self._channel.log(level, params)

    def notify(self, method: str, params: bytes) -> None:
        self._channel.notify(method, params)

    def visited(self, params: Raw) -> None:
        self._channel.visited(params)

    @property
    def is_pressed(self) -> bool:
        return self._channel.is_pressed

    async def relieved(self) -> None:
        await self._channel.relieved()

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        self._clock.pause()
        try:
            return await self._channel.ask(wanted)
        finally:
            self._clock.resume()

    def ask_elsewhere(self, ask: Ask) -> None:
        self._channel.ask_elsewhere(ask)
