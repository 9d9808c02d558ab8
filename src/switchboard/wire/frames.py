"""Bytes to messages and back, in both framings. No I/O, no JSON.

A message is a line, or a body announced by a `Content-Length` header. Which of the two it is shows
at its first byte, so a peer may change its mind from one message to the next. Reading is linear in
the bytes: what is not a whole message yet is kept as a list of chunks and joined once.
"""

from typing import Literal

FrameStyle = Literal["newline", "content-length"]

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_MAX_HEADER_BYTES = 4096
_HEADER = b"content-length:"
_BLANKS = b" \t\r\n"


class FrameTooLarge(Exception):
    """A message is larger than the reader accepts. Nothing after it can be read."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a message is larger than {limit} bytes")
        self.limit = limit
        # Those that were whole before it came.
        self.messages: list[bytes] = []


class FrameReader:
    """Takes bytes as they come and gives out whole messages."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._held = 0
        # Bytes of a Content-Length body that are still to come; None while reading lines.
        self._missing: int | None = None
        # The framing of the last message read.
        self.style: FrameStyle = "newline"

    def feed(self, data: bytes) -> list[bytes]:
        """Every message that is complete with these bytes. Blank lines are not messages."""
        messages: list[bytes] = []
        start, size = 0, len(data)
        try:
            while start < size:
                if self._missing is not None:
                    start = self._body(data, start, messages)
                elif self._chunks:
                    start = self._continued(data, start, messages)
                else:
                    start = self._fresh(data, start, messages)
        except FrameTooLarge as error:
            error.messages = [*messages, *error.messages]
            raise
        return messages

    def held(self) -> bytes:
        """What a new reader would have to be fed with to go on from here."""
        chunks = b"".join(self._chunks)
        if self._missing is None:
            return chunks
        return b"Content-Length: %d\r\n\r\n%b" % (len(chunks) + self._missing, chunks)

    def _fresh(self, data: bytes, start: int, messages: list[bytes]) -> int:
        """Read what begins at `start`, where a message begins."""
        first = data[start]
        if first in _BLANKS:
            return start + 1
        if first in b"cC" and _may_be_header(data, start):
            return self._header(data, start, messages)
        return self._line(data, start, messages)

    def _line(self, data: bytes, start: int, messages: list[bytes]) -> int:
        end = data.find(b"\n", start)
        if end < 0 and (end := _line_end(data, start)) < 0:
            self._hold(data[start:])
            return len(data)
        if end - start > self._limit:
            raise FrameTooLarge(self._limit)
        self.style = "newline"
        messages.append(data[start:end])
        return end + 1

    def _continued(self, data: bytes, start: int, messages: list[bytes]) -> int:
        """Go on with a line or header of which the first bytes came earlier."""
        if _may_be_header(self._chunks[0], 0):
            # At most a header's worth was held, so this copy does not add up.
            joined = b"".join((*self._chunks, data[start:]))
            self._drop()
            messages += self.feed(joined)
            return len(data)
        end = _line_end(data, start, self._chunks[-1][-1:])
        if end < 0:
            self._hold(data[start:])
            return len(data)
        if self._held + end - start > self._limit:
            raise FrameTooLarge(self._limit)
        message = b"".join((*self._chunks, data[start:end]))
        self._drop()
        self.style = "newline"
        messages.append(message)
        return end + 1

    def _header(self, data: bytes, start: int, messages: list[bytes]) -> int:
        """Read the header block at `start`; a line that only looked like one is a line."""
        line_end = data.find(b"\n", start, start + _MAX_HEADER_BYTES)
        length = _content_length(data[start:line_end]) if line_end >= 0 else 0
        if length is None:
            return self._line(data, start, messages)
        end, skip = _header_end(data, start)
        if end < 0:
            if len(data) - start > _MAX_HEADER_BYTES:
                raise FrameTooLarge(_MAX_HEADER_BYTES)
            self._hold(data[start:])
            return len(data)
        if length > self._limit:
            raise FrameTooLarge(self._limit)
        self._missing = length
        self.style = "content-length"
        return end + skip

    def _body(self, data: bytes, start: int, messages: list[bytes]) -> int:
        missing = self._missing or 0
        end = start + missing
        if end > len(data):
            self._chunks.append(data[start:])
            self._missing = end - len(data)
            return len(data)
        body = b"".join((*self._chunks, data[start:end]))
        self._drop()
        self._missing = None
        # Outside strings a line break is only white space, and inside them JSON has none: without
        # it the body can be passed on as a line.
        if body:
            messages.append(body.replace(b"\n", b" ") if b"\n" in body else body)
        return end

    def _hold(self, data: bytes) -> None:
        self._held += len(data)
        if self._held > self._limit:
            raise FrameTooLarge(self._limit)
        self._chunks.append(data)

    def _drop(self) -> None:
        self._chunks.clear()
        self._held = 0


def _line_end(data: bytes, start: int, before: bytes = b"") -> int:
    """Where the line ends that goes on at `start`, after `before`, or -1.

    A lone carriage return ends one where nothing came behind it: whoever writes it waits for an
    answer, and within a line it is only white space.
    """
    end = data.find(b"\n", start)
    if end >= 0 or not data.endswith(b"\r"):
        return end
    last = len(data) - 1
    return last if (data[last - 1 : last] if last > start else before) == b"}" else -1


def _may_be_header(data: bytes, start: int) -> bool:
    return _HEADER.startswith(data[start : start + len(_HEADER)].lower())


def _header_end(data: bytes, start: int) -> tuple[int, int]:
    """Where the header block ends and how many bytes its blank line takes; -1 when it does not."""
    reach = start + _MAX_HEADER_BYTES
    crlf = data.find(b"\r\n\r\n", start, reach)
    lone = data.find(b"\n\n", start, reach)
    if crlf >= 0 and (lone < 0 or crlf < lone):
        return crlf, 4
    return lone, 2


def _content_length(line: bytes) -> int | None:
    """The number in a `Content-Length` line; None when it is another kind of line."""
    value = line[len(_HEADER) :].strip()
    return int(value) if line[: len(_HEADER)].lower() == _HEADER and value.isdigit() else None
