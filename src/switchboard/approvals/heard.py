"""What a session hears of a tool beside its result."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw

from switchboard.core.channel import Ask, Channel, Input


class HeardChannel:
    """The channel of a call whose tool promises that its result holds no words of strangers.

    The promise is about the result. Whatever else is told on the way is not covered by it, and
    `heard` is called before the client reads it.
    """

    __slots__ = ("_channel", "_heard")

    def __init__(self, channel: Channel, heard: Callable[[], None]) -> None:
        self._channel = channel
        self._heard = heard

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

    @property
    def is_pressed(self) -> bool:
        return self._channel.is_pressed

    async def relieved(self) -> None:
        await self._channel.relieved()

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        if message:
            self._heard()
        self._channel.report(done, total, message)

    def progress(self, params: Raw) -> None:
        # Numbers alone say nothing; a message is somebody's words.
        if b'"message"' in bytes(params) or b"\\u" in bytes(params):
            self._heard()
        self._channel.progress(params)

    def log(self, level: str, params: bytes) -> None:
        self._heard()
        self._channel.log(level, params)

    def notify(self, method: str, params: bytes) -> None:
        self._heard()
        self._channel.notify(method, params)

    def visited(self, params: Raw) -> None:
        self._channel.visited(params)

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        self._heard()
        return await self._channel.ask(wanted)

    def ask_elsewhere(self, ask: Ask) -> None:
        self._channel.ask_elsewhere(ask)
