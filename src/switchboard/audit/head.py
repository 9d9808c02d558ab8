"""Where the log ends, signed and kept apart from it.

It is written after the records are on disk and before anybody is told so. So it may lag behind the
records, by what a process that was killed had just written; it never leads. A log that is shorter
than its head was cut.
"""

import os
from typing import Self

import msgspec
from msgspec import Struct

from switchboard.audit.chain import Tip
from switchboard.audit.key import AuditKey
from switchboard.audit.paths import AuditPaths
from switchkit.files import open_private
from switchkit.platform.light import sync_file

# One sector: written whole or not at all, also when the power goes.
_BYTES = 512


class Head(Struct, frozen=True):
    """The end of the log, as somebody who had the key saw it."""

    seq: int
    hash: str
    signature: str

    @property
    def tip(self) -> Tip:
        return Tip(self.seq, bytes.fromhex(self.hash))

    def is_signed_by(self, key: AuditKey) -> bool:
        """Whether the holder of the key wrote it."""
        try:
            return key.has_signed_head(self.seq, bytes.fromhex(self.hash), self.signature)
        except (ValueError, OverflowError, TypeError):
            return False


# What stands in the file when no head can be read from it.
UNREADABLE = Head(-1, "", "")


class HeadFile:
    """The file of the head, open for as long as its `with` lasts."""

    def __init__(self, paths: AuditPaths) -> None:
        self._path = paths.head
        self._handle: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def read(self) -> Head | None:
        """What it says; `None` when it is not there, `UNREADABLE` when it makes no sense."""
        try:
            self._handle = open_private(self._path, os.O_RDWR)
        except FileNotFoundError:
            return None
        return _head_in(os.pread(self._handle, _BYTES, 0))

    def write(self, tip: Tip, key: AuditKey) -> None:
        """Say where the log ends now."""
        if self._handle is None:
            self._handle = open_private(self._path, os.O_RDWR | os.O_CREAT)
        head = Head(tip.seq, tip.hash.hex(), key.sign_head(tip.seq, tip.hash).hex())
        os.pwrite(self._handle, msgspec.json.encode(head).ljust(_BYTES - 1) + b"\n", 0)

    def sync(self) -> None:
        """Bring it to disk."""
        if self._handle is not None:
            sync_file(self._handle)


def read_head(paths: AuditPaths) -> Head | None:
    """As `HeadFile.read`, for those who only look."""
    try:
        handle = open_private(paths.head, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return _head_in(os.pread(handle, _BYTES, 0))
    finally:
        os.close(handle)


def _head_in(raw: bytes) -> Head:
    try:
        head = msgspec.json.decode(raw, type=Head)
        bytes.fromhex(head.hash)
    except (msgspec.MsgspecError, ValueError):
        return UNREADABLE
    return head
