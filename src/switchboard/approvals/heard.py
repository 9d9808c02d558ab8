"""What a session hears of a tool beside its result."""

from collections.abc import Callable, Mapping

from msgspec import Raw

from switchboard.core.channels.channel import Channel, Input
from switchboard.core.channels.passing_channel import PassingChannel


class HeardChannel(PassingChannel):
    """The channel of a call whose tool promises that its result holds no words of strangers.

    The promise is about the result. Whatever else is told on the way is not covered by it, and
    `heard` is called before the client reads it.
    """

    __slots__ = ("_heard",)

    def __init__(self, channel: Channel, heard: Callable[[], None]) -> None:
        super().__init__(channel)
        self._heard = heard

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

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        self._heard()
        return await self._channel.ask(wanted)
