"""Server-sent events: bytes to events and back. No I/O, no JSON."""

import re

from msgspec import Raw, Struct

from switchboard.wire.frames import MAX_MESSAGE_BYTES, FrameTooLarge
from switchboard.wire.messages import Parts

KEEP_ALIVE = b": keep-alive\n\n"

_DATA = b"data:"
_HEAD = b"event: message\ndata: "
_TAIL = b"\n\n"
_LONGEST_FIELD_NAME = 6
_LINE_BREAK = re.compile(rb"[\r\n]")
_BREAKS_TO_BLANKS = bytes.maketrans(b"\r\n", b"  ")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerEvent(Struct, frozen=True):
    """One event. Line breaks of its data have become blanks: in JSON they mean the same."""

    name: str = "message"
    data: bytes = b""
    id: str = ""
    retry_ms: int | None = None


class EventReader:
    """Takes bytes as they come and gives out whole events. Linear in the bytes."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        # The line that is not complete yet, in pieces.
        self._pieces: list[bytes] = []
        # How many bytes came since the last event.
        self._held = 0
        self._after_return = False
        self._at_start = True
        self._data: list[bytes] = []
        self._name = ""
        self._id = ""
        self._retry_ms: int | None = None

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Every event that is complete with these bytes. Raises FrameTooLarge."""
        events: list[ServerEvent] = []
        start, size = 0, len(chunk)
        if self._at_start and chunk:
            # The mark may come in pieces, too.
            chunk = b"".join((*self._pieces, chunk))
            size = len(chunk)
            self._pieces, self._held = [], 0
            if _BYTE_ORDER_MARK.startswith(chunk) and size < len(_BYTE_ORDER_MARK):
                self._hold(chunk)
                return events
            self._at_start = False
            start = len(_BYTE_ORDER_MARK) if chunk.startswith(_BYTE_ORDER_MARK) else 0
        while start < size:
            if self._after_return:
                self._after_return = False
                if chunk[start] == ord("\n"):
                    start += 1
                    continue
            end = chunk.find(b"\n", start)
            lone = chunk.find(b"\r", start, end if end >= 0 else size)
            if lone >= 0:
                end = lone
                self._after_return = True
            if end < 0:
                self._hold(chunk[start:])
                break
            self._hold(chunk[start:end])
            start = end + 1
            if self._pieces:
                self._take_line()
            elif event := self._finish():
                events.append(event)
        return events

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self._limit:
            raise FrameTooLarge(self._limit)
        if piece:
            self._pieces.append(piece)

    def _take_line(self) -> None:
        pieces, self._pieces = self._pieces, []
        while len(pieces) > 1 and len(pieces[0]) < _LONGEST_FIELD_NAME:
            pieces[:2] = [pieces[0] + pieces[1]]
        if pieces[0].startswith(_DATA):
            # Cut the field's name off the first piece, so that the whole is copied once only.
            blank = pieces[0][len(_DATA) : len(_DATA) + 1] == b" "
            pieces[0] = pieces[0][len(_DATA) + blank :]
            self._data.append(b"".join(pieces) if len(pieces) > 1 else pieces[0])
            return
        name, _, value = b"".join(pieces).partition(b":")
        self._take_field(name, value.removeprefix(b" ").decode("utf-8", "replace"))

    def _take_field(self, name: bytes, value: str) -> None:
        if name == b"event":
            self._name = value
        elif name == b"id" and "\0" not in value:
            self._id = value
        elif name == b"retry" and value.isascii() and value.isdigit():
            self._retry_ms = int(value)
        elif name == b"data":
            self._data.append(b"")

    def _finish(self) -> ServerEvent | None:
        """The event that a blank line ends, if there was one."""
        self._held = 0
        if not self._data and not self._id and self._retry_ms is None:
            self._name = ""
            return None
        lines, self._data = self._data, []
        event = ServerEvent(
            name=self._name or "message",
            data=lines[0] if len(lines) == 1 else b" ".join(lines),
            id=self._id,
            retry_ms=self._retry_ms,
        )
        self._name, self._id, self._retry_ms = "", "", None
        return event


def event_parts(message: Parts, event_id: str = "") -> Parts:
    """A message as one event, with an id if a reader may ask for what came after it."""
    head = b"id: %b\n%b" % (event_id.encode(), _HEAD) if event_id else _HEAD
    return (head, *map(_on_one_line, message), _TAIL)


def priming_event(event_id: str, retry_ms: int) -> bytes:
    """An event that says nothing but where the reader is, and how long to wait to come back."""
    return b"id: %b\nretry: %d\ndata: \n\n" % (event_id.encode(), retry_ms)


def _on_one_line(part: bytes | Raw) -> bytes | Raw:
    """A line break would end the event's data; in JSON it stands between members only."""
    if _LINE_BREAK.search(memoryview(part)) is None:
        return part
    return bytes(part).translate(_BREAKS_TO_BLANKS)
