"""One HTTP/1.1 response, parsed as its bytes come in: JSON, or server-sent events."""

import json

from .link import Json, LinkLostError


class Reply:
    """Feed it bytes; messages appear in `messages`, and `done` says when the response is over."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.messages: list[Json] = []
        self.events: list[tuple[str, str]] = []
        self.done = False
        self._head = bytearray()
        self._body = _Body(self)

    def feed(self, data: bytes) -> None:
        if not data:
            self._body.closed()
        elif self.headers:
            self._body.feed(data)
        else:
            self._head += data
            while b"\r\n\r\n" in self._head and not self.headers:
                self._read_head()

    def _read_head(self) -> None:
        head, _, rest = bytes(self._head).partition(b"\r\n\r\n")
        self._head = bytearray(rest)
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1])
        if self.status == 100:
            return
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self._body.begin()
        if rest or self.status in {202, 204}:
            self._body.feed(rest)


class _Body:
    """The bytes after the head, whole, in chunks or until the connection closes."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._left: int | None = None
        self._chunked = False
        self._buffer = bytearray()
        self._text = bytearray()
        self._events = False

    def begin(self) -> None:
        headers = self._reply.headers
        self._events = headers.get("content-type", "").startswith("text/event-stream")
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        if not self._chunked and "content-length" in headers:
            self._left = int(headers["content-length"])
        elif not self._chunked and self._reply.status in {202, 204}:
            self._left = 0
        if self._left == 0:
            self._over()

    def feed(self, data: bytes) -> None:
        if self._reply.done:
            return
        if self._chunked:
            self._buffer += data
            while not self._reply.done and self._chunk():
                pass
            return
        self._content(data)
        if self._left is not None:
            self._left -= len(data)
            if self._left <= 0:
                self._over()

    def closed(self) -> None:
        if not self._reply.headers or self._chunked or self._left:
            raise LinkLostError("the connection has closed")
        self._over()

    def _chunk(self) -> bool:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            return False
        size = int(bytes(self._buffer[:end]).partition(b";")[0], 16)
        after = end + 2 + size
        if len(self._buffer) < after + 2:
            return False
        chunk = bytes(self._buffer[end + 2 : after])
        del self._buffer[: after + 2]
        if size:
            self._content(chunk)
        else:
            self._over()
        return True

    def _content(self, data: bytes) -> None:
        self._text += data.replace(b"\r", b"") if self._events else data
        while self._events and (end := self._text.find(b"\n\n")) >= 0:
            event = self._text[:end].decode()
            del self._text[: end + 2]
            self._event(event.split("\n"))

    def _event(self, lines: list[str]) -> None:
        name = "".join(line[6:].strip() for line in lines if line.startswith("event:"))
        data = "\n".join(line[5:].strip() for line in lines if line.startswith("data:"))
        if data.startswith("{"):
            self._reply.messages.append(json.loads(data))
        elif data:
            self._reply.events.append((name, data))

    def _over(self) -> None:
        self._reply.done = True
        if self._events or not self._text:
            return
        try:
            self._reply.messages.append(json.loads(bytes(self._text)))
        except ValueError:
            return
