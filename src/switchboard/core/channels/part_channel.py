"""The channel of one call among several that a client has made with one request."""

from collections.abc import Mapping

from msgspec import Raw

from switchboard.core.calls.clock import Clock
from switchboard.core.calls.receipts import Receipt
from switchboard.core.channels.channel import Channel, Input
from switchboard.core.channels.passing_channel import PassingChannel


class PartChannel(PassingChannel):
    """Leads where the channel of the request leads. Only the time is the call's own."""

    __slots__ = ("_clock",)

    def __init__(self, channel: Channel, clock: Clock) -> None:
        super().__init__(channel)
        self._clock = clock

    @property
    def receipt(self) -> None:
        """None: what the client gets is the answer of the whole request, which has one."""

    def hold(self, receipt: Receipt) -> None:
        del receipt

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """A sign of life. How far one of several has come is not how far the request has."""
        del done, total, message
        self._clock.touch()

    def progress(self, params: Raw) -> None:
        del params
        self._clock.touch()

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        self._clock.pause()
        try:
            return await self._channel.ask(wanted)
        finally:
            self._clock.resume()
