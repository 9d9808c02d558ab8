"""What somebody who is attached to a service sends to its terminal: keys, and a window's size."""

import struct
from collections.abc import Generator

KEYS, SIZE = b"k", b"s"
_HEAD = struct.Struct("!cH")
MOST_BYTES = 65535


def frame(kind: bytes, data: bytes) -> bytes:
    """One message, of at most `MOST_BYTES`."""
    return _HEAD.pack(kind, len(data)) + data


def size_frame(rows: int, columns: int) -> bytes:
    """How large the window is now."""
    return frame(SIZE, struct.pack("!HH", rows, columns))


class TerminalFrameReader:
    """Puts messages together from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._raw = b""

    def read(self, more: bytes) -> Generator[tuple[bytes, bytes]]:
        """Every whole message so far, as its kind and its data."""
        self._raw += more
        while len(self._raw) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._raw)
            if len(self._raw) < _HEAD.size + length:
                return
            data = self._raw[_HEAD.size : _HEAD.size + length]
            self._raw = self._raw[_HEAD.size + length :]
            yield kind, data
