"""A channel that leads where another leads; who needs more of some word says so."""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from switchboard.core.calls.receipts import Receipt
from switchboard.core.channels.channel import Ask, Channel, Input


class PassingChannel:
    """Passes everything on."""

    __slots__ = ("_channel",)

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    @property
    def receipt(self) -> Receipt | None:
        return self._channel.receipt

    def hold(self, receipt: Receipt) -> None:
        self._channel.hold(receipt)

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
        self._channel.report(done, total, message)

    def progress(self, params: Raw) -> None:
        self._channel.progress(params)

    def log(self, level: str, params: bytes) -> None:
        self._channel.log(level, params)

    def notify(self, method: str, params: bytes) -> None:
        self._channel.notify(method, params)

    def visited(self, params: Raw) -> None:
        self._channel.visited(params)

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        return await self._channel.ask(wanted)

    def ask_elsewhere(self, ask: Ask) -> None:
        self._channel.ask_elsewhere(ask)
