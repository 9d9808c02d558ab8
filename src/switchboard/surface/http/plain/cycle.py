"""One plain request and the response to it, written without a general parser."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import Any, Protocol

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.h11_impl import RequestResponseCycle

from switchboard.surface.http.plain.head import PlainHead

_STATUS = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}
_BODILESS = frozenset({204, 304})
_CLOSE = (b"connection", b"close")
_JSON = (b"content-type", b"application/json")
_JSON_HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\ncontent-type: application/json\r\n\r\n%b"
_DISCONNECT = {"type": "http.disconnect"}


class Carrier(Protocol):
    """The connection that a request came by."""

    transport: asyncio.Transport
    flow: FlowControl

    def answered(self) -> None:
        """The response is whole."""
        ...


class PlainCycle(RequestResponseCycle):
    """As uvicorn's, for a connection that counts the bytes of the body itself.

    What is answered is ours to frame: with a length that the application gives, or in chunks.
    """

    def __init__(self, carrier: Carrier, head: PlainHead, logger: logging.Logger) -> None:
        # Not uvicorn's own way to begin, which asks h11 for what is known here.
        self.head = head
        self.transport = carrier.transport
        self.flow = carrier.flow
        self.logger = logger
        self.on_response = carrier.answered
        self.disconnected = False
        self.keep_alive = True
        self.more_body = head.length > 0
        self.response_started = False
        self.response_complete = False
        # The pieces of the body that nobody has asked for, and whether there is news of it.
        self._pieces: list[bytes] = []
        self._held = 0
        self._has_news = not self.more_body
        self._is_chunked = False
        # Whether the response comes after the application has returned.
        self.is_promised = False
        self._tell: Callable[[], None] | None = None

    @cached_property
    def message_event(self) -> asyncio.Event:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Hardly anybody waits for it: the whole body is mostly there."""
        return asyncio.Event()

    async def run(self, app: Any, scope: dict[str, Any]) -> None:
        """Have the application answer, or promise to."""
        try:
            await app(scope, self.receive, self.send)
        except BaseException:
            self.logger.exception("Exception in ASGI application")
            await self._fail()
            return
        if not (self.is_promised or self.response_complete or self.disconnected):
            self.logger.error("ASGI callable returned without completing response.")
            await self._fail()

    async def _fail(self) -> None:
        if self.response_started:
            self.transport.close()
        else:
            await self.send_500_response()

    # The request

    def feed(self, data: bytes, *, more: bool) -> None:
        """A piece of the body has come."""
        self._pieces.append(data)
        self._held += len(data)
        self._has_news = True
        self.more_body = more
        if self._held > HIGH_WATER_LIMIT and more:
            self.flow.pause_reading()
        self._wake()

    def _wake(self) -> None:
        if "message_event" in vars(self):
            self.message_event.set()

    def whole_body(self) -> bytes | None:
        """The body, if all of it is here and nobody has had any of it."""
        if self.more_body or not self._has_news or self._held != self.head.length:
            return None
        return self._given()

    def _given(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        self._held, self._has_news = 0, False
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def receive(self) -> Any:
        while not (self.disconnected or self.response_complete):
            if self._has_news:
                return {"type": "http.request", "body": self._given(), "more_body": self.more_body}
            self.flow.resume_reading()
            self.message_event.clear()
            await self.message_event.wait()
        return _DISCONNECT

    def when_left(self, tell: Callable[[], None]) -> None:
        """Have somebody told if the client leaves before it has its answer."""
        self._tell = tell
        if self.disconnected:
            tell()

    def lost(self) -> None:
        """The client has closed the connection."""
        self.disconnected = True
        self._wake()
        if self._tell is not None:
            self._tell()

    # The response

    @property
    def may_reply(self) -> bool:
        """Whether nothing was answered, and all of an answer can be written at once."""
        return not (self.response_started or self.disconnected or self.flow.write_paused)

    def reply(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        """Write a whole response, whose headers tell its length."""
        self.response_started = True
        self.transport.write(self._head(status, headers) + body)
        self._complete()

    def reply_json(self, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        """Write a whole response with this text: as nearly all of them are."""
        if headers:
            more = [*headers, (b"content-length", b"%d" % len(body)), _JSON]
            self.reply(200, more, body)
            return
        self.response_started = True
        self.transport.write(_JSON_HEAD % (len(body), body))
        self._complete()

    async def send(self, message: Any) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if not self.response_started:
            _expect(message, "http.response.start")
            status, headers = message["status"], list(message.get("headers", ()))
            self.response_started = True
            has_length = any(name == b"content-length" for name, _ in headers)
            if not has_length and status not in _BODILESS:
                self._is_chunked = True
                headers.append((b"transfer-encoding", b"chunked"))
            self.transport.write(self._head(status, headers))
            return
        if self.response_complete:
            raise RuntimeError("the response was whole already")
        _expect(message, "http.response.body")
        self._write(message.get("body", b""))
        if not message.get("more_body", False):
            if self._is_chunked:
                self.transport.write(b"0\r\n\r\n")
            self._complete()

    def _head(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        if _CLOSE in headers:
            self.keep_alive = False
        lines = [_STATUS[status], *(b"%b: %b\r\n" % each for each in headers), b"\r\n"]
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise ValueError("a header of a response is more than one line")
        return head

    def _write(self, data: bytes | memoryview) -> None:
        if not len(data):
            return
        if self._is_chunked:
            self.transport.writelines((b"%x\r\n" % memoryview(data).nbytes, data, b"\r\n"))
        else:
            self.transport.write(data)

    def _complete(self) -> None:
        self.response_complete = True
        self._tell = None
        self._wake()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


def _expect(message: Any, kind: str) -> None:
    if message["type"] != kind:
        raise RuntimeError(f"expected `{kind}`, not `{message['type']}`")
