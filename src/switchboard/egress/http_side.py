"""One side of a connection that speaks HTTP/1.1, with bounds on how long and how much."""

import asyncio
from collections.abc import Sequence

import h11

from switchboard.egress.limits import CHUNK, EgressLimits
from switchboard.egress.refusals import EgressRefusal, Malformed

Headers = list[tuple[bytes, bytes]]

# Between one hop and the next; never passed on.
_HOP = frozenset(
    {
        *(b"connection", b"proxy-connection", b"keep-alive", b"te", b"trailer", b"upgrade"),
        *(b"transfer-encoding", b"proxy-authorization", b"proxy-authenticate", b"expect"),
        b"proxy-authentication-info",
    }
)

# Some programs send a password only when they are asked for it.
_PASSWORD_ASKED = 407
_ASKS_PASSWORD = (("Proxy-Authenticate", 'Basic realm="switchboard"'),)


class HttpSide:
    """Reads and writes events. Raises `Malformed` for what is no HTTP, EOFError at the end."""

    def __init__(
        self,
        role: type[h11.SERVER] | type[h11.CLIENT],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        limits: EgressLimits,
    ) -> None:
        self.http = h11.Connection(role, max_incomplete_event_size=limits.head_bytes)
        self.reader = reader
        self.writer = writer
        self._limits = limits
        # Bytes that came and went.
        self.received = 0
        self.sent = 0

    async def head(self) -> h11.Event:
        """The next event, which is the head of a message: it may be waited for, but not drip."""
        event = self._next()
        if event is not None:
            return event
        if not self.http.trailing_data[0]:
            await self._read(self._limits.idle_s)
        try:
            async with asyncio.timeout(self._limits.head_s):
                while (event := self._next()) is None:
                    await self._read(self._limits.head_s)
        except TimeoutError:
            raise Malformed("the head of the request did not come to an end in time") from None
        return event

    async def body(self) -> h11.Event:
        """The next event, which is a part of a body or its end."""
        while (event := self._next()) is None:
            await self._read(self._limits.idle_s)
        return event

    async def _read(self, within_s: float) -> None:
        async with asyncio.timeout(within_s):
            data = await self.reader.read(CHUNK)
        self.received += len(data)
        try:
            self.http.receive_data(data)
        except RuntimeError:
            raise EOFError from None

    def _next(self) -> h11.Event | None:
        try:
            event = self.http.next_event()
        except h11.RemoteProtocolError as error:
            if self.http.their_state is h11.ERROR and "closed" in str(error):
                raise EOFError from None
            # Without what was sent, which stands behind the kind of mistake: it is not our word.
            kind = str(error).partition(":")[0]
            raise Malformed(f"this is no HTTP that can be passed on: {kind}") from None
        if event is h11.NEED_DATA:
            return None
        if event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            raise EOFError
        assert not isinstance(event, type)
        if isinstance(event, h11.Request | h11.Response) and self._length(event) > 0:
            raise Malformed("the head is too long")
        return event

    def _length(self, event: h11.Request | h11.Response) -> int:
        """By how much a head is longer than it may be. One that comes at once is parsed at once."""
        names = sum(len(name) + len(value) for name, value in event.headers)
        return names + len(getattr(event, "target", b"")) - self._limits.head_bytes

    async def send(self, event: h11.Event) -> None:
        """Write one event."""
        data = self.http.send(event)
        if data:
            self.sent += len(data)
            self.writer.write(data)
            async with asyncio.timeout(self._limits.idle_s):
                await self.writer.drain()

    async def answer(self, refused: EgressRefusal) -> None:
        """Say in plain text why a request went nowhere, and that no other will be answered."""
        if self.http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        text = f"{refused.phrase}: {refused.says}\n".encode()
        await self.send(
            h11.Response(
                status_code=refused.status,
                reason=refused.status_line.encode("ascii", "replace"),
                headers=[
                    ("Content-Type", "text/plain; charset=utf-8"),
                    ("Content-Length", str(len(text))),
                    ("X-Switchboard", refused.why),
                    *(_ASKS_PASSWORD if refused.status == _PASSWORD_ASKED else ()),
                    ("Connection", "close"),
                ],
            )
        )
        await self.send(h11.Data(data=text))
        await self.send(h11.EndOfMessage())


def passed_on(headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    """The headers that go on to the next hop."""
    named = {
        word.strip().lower()
        for name, value in headers
        if name == b"connection"
        for word in value.split(b",")
    }
    # A name that frames the body must not be taken away by the one who sends it.
    named -= {b"content-length", b"host"}
    return [(name, value) for name, value in headers if name not in _HOP and name not in named]
