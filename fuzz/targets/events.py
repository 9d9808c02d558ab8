"""Server-sent events: however the bytes are cut, the same events come out."""

from switchboard.wire.frames import FrameTooLarge
from switchboard.wire.sse import EventReader, ServerEvent

SEEDS = (
    # A byte order mark in pieces.
    b"\x00\xef\xbb\xbfdata: 1\n\n",
    b'event: message\ndata: {"id":1}\n\n',
    b"\xef\xbb\xbfdata: a\r\ndata: b\r\rid: 7\nretry: 10\n\n: x\n\n",
    b"data\ndata:\nid: \0\nretry: x\n\n",
    b"event: \xff\ndata: 1\n\n",
)
_LIMIT = 64


def check(data: bytes) -> None:
    """The first byte says how the rest is cut."""
    if not data:
        return
    size, rest = data[0] % 16 + 1, data[1:]
    whole, too_large = _events(rest, len(rest) or 1)
    cut, cut_too_large = _events(rest, size)
    # Where a stream is refused, how much of it was read before depends on the cut.
    assert cut_too_large == too_large
    assert too_large or cut == whole, (cut, whole)


def _events(data: bytes, size: int) -> tuple[list[ServerEvent], bool]:
    reader, found = EventReader(_LIMIT), list[ServerEvent]()
    for start in range(0, len(data), size):
        try:
            found += reader.feed(data[start : start + size])
        except FrameTooLarge:
            return found, True
    return found, False
