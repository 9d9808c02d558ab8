"""One result that is kept for a session."""

import zlib
from typing import Any

import msgspec
from msgspec import Struct

from switchboard.core.calls.borrowed import Quoted

# Less is not worth the time.
_PACKED_FROM = 16 * 1024
_QUICKLY = 1
# What is longer is not taken apart while everybody waits.
MUCH = 128 * 1024


class KeptResult(Struct, frozen=True, eq=False, kw_only=True):
    """A result, whole, as one JSON value."""

    handle: str
    # Whose it is.
    server: str
    tool: str
    quoted: Quoted
    # How many tokens an answer about it may have.
    tokens: int
    packed: bytes
    is_packed: bool
    # The bytes that it takes when it is read: a few packed ones may stand for a thousand times
    # as many.
    size: int

    def document(self) -> Any:
        """The value, made anew for whoever asks."""
        return msgspec.json.decode(zlib.decompress(self.packed) if self.is_packed else self.packed)


def packed(document: bytes) -> tuple[bytes, bool]:
    """A document as it is kept, and whether it is packed."""
    if len(document) < _PACKED_FROM:
        return document, False
    return zlib.compress(document, _QUICKLY), True
