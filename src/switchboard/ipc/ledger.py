"""What a daemon leaves with a shim ahead of time: its client's streams, as read and written.

The daemon reads the client's bytes straight into shared memory of the shim and writes to the client
straight from it, so that it costs no message and no system call. Once the daemon has ended, however
it ended, the shim finds here every byte that was taken from the client and every byte that it was
to get.

There are two files. The book has a page of numbers and two slots; a slot has a checkpoint (how the
session stood) and the client's bytes since then. Behind those that were counted it holds zeros,
which no message has: bytes that the kernel put there when the daemon was killed can be told from
none. The other file holds what is sent. Its position, which the kernel moves as bytes leave, says
how far that went.
"""

import os
from mmap import mmap
from struct import Struct

from switchkit.platform.light import send_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = 1
# Native, so that each number is stored at once: a daemon can be killed between any two stores.
_NUMBER = Struct("@Q")
_store = _NUMBER.pack_into
_VERSION_AT, _ACTIVE_AT = 0, 8
# Of each slot: where its checkpoint ends, where the client's bytes end; in the other file, where
# what was sent since the checkpoint begins, and where it ends.
_SLOTS_AT, _SLOT_NUMBERS = 64, 32
_HEAD, _END, _FIRST, _LAST = 0, 8, 16, 24

_PAGE = 4096
_SLOT_BYTES = 256 * 1024
_BOOK_BYTES = _PAGE + 2 * _SLOT_BYTES
# So much of what is sent is written by storing it; what lies beyond takes a system call.
_WINDOW_BYTES = 256 * 1024
# What a stream may bring at once.
_LEAST_ROOM = 64 * 1024
# From so much sent on it is worth to begin the file anew, and from so much on it has to be.
_MUCH_SENT = _WINDOW_BYTES // 2
_TOO_MUCH_SENT = 16 * 1024 * 1024


class OtherLedger(Exception):
    """The files were written by a version that writes them otherwise."""


class Ledger:
    """Both files, as one process after the other keeps them."""

    def __init__(self, book: int, sent: int) -> None:
        """The files are closed with it. Raises `OtherLedger`, `OSError`."""
        self.files = (book, sent)
        for file, least in ((book, _BOOK_BYTES), (sent, _WINDOW_BYTES)):
            if os.fstat(file).st_size < least:
                os.ftruncate(file, least)
        self._window = mmap(sent, _WINDOW_BYTES)
        self._map_book(os.fstat(book).st_size)
        version = self._number(_VERSION_AT)
        if not version:
            for slot in (0, 1):
                self._write_slot(slot, _start(slot), _start(slot), 0, 0)
            _store(self._map, _VERSION_AT, VERSION)
        elif version != VERSION:
            self.close()
            raise OtherLedger
        self._open_slot(self._number(_ACTIVE_AT))
        self._try_again_at = _MUCH_SENT
        # Whether it is time for another checkpoint.
        self.is_due = self._limit - self._end < _LEAST_ROOM
        # Whoever kept it before may have been killed just after it began the file anew.
        self._left = min(os.lseek(sent, 0, os.SEEK_CUR), self._last)
        os.lseek(sent, self._left, os.SEEK_SET)

    # What comes from the client

    def read(self, number: int) -> bytes:
        """Read what a stream has. Raises `OSError`, `BlockingIOError` among them."""
        begin = self._end
        if self._ready - begin < _LEAST_ROOM:
            self._make_ready()
        self._end = end = begin + os.readv(number, (self._view[begin : self._ready],))
        _store(self._map, self._end_at, end)
        if self._limit - end < _LEAST_ROOM:
            self.is_due = True
        return self._map[begin:end]

    def _make_ready(self) -> None:
        """Have pages behind the client's bytes.

        Else a read would make them, and one that is killed meanwhile leaves bytes here and there.
        """
        begin, self._ready = self._ready, min(self._ready + _LEAST_ROOM, self._limit)
        self._map[begin : self._ready] = bytes(self._ready - begin)

    @property
    def has_room(self) -> bool:
        """Whether more can be read and sent before the next checkpoint."""
        return self._limit - self._end >= _LEAST_ROOM and self._last < _TOO_MUCH_SENT

    def put_off(self) -> None:
        """Let the checkpoint wait until more was sent."""
        self._try_again_at = self._last + _LEAST_ROOM
        self.is_due = False

    # What goes to the client

    def add(self, parts: "Iterable[bytes | memoryview]") -> None:
        """Put a message, or several, behind what is to be sent: all of it, or nothing."""
        at = self._last
        for part in parts:
            end = at + len(part)
            if end <= _WINDOW_BYTES:
                self._window[at:end] = part
            else:
                _write_at(self.files[1], part, at)
            at = end
        self._last = at
        _store(self._map, self._last_at, at)
        if at >= self._try_again_at:
            self.is_due = True

    def send(self, number: int) -> int:
        """Send as much as the stream takes; gives how many bytes are left.

        Raises `OSError`, `BlockingIOError` among them.
        """
        left = self._left
        self._left = left = left + send_from(self.files[1], number, self._last - left)
        return self._last - left

    @property
    def unsent(self) -> int:
        """How many bytes have not left yet."""
        return self._last - self._left

    # Checkpoints

    def turn(self, checkpoint: bytes, held: bytes, *, is_read: bool) -> None:
        """Begin anew with a checkpoint, and the beginning of a message that has not ended yet.

        `is_read` says that the client has read all that was sent. Until then nothing can be written
        over it: what waits in a pipe is a part of this very file.
        """
        slot = 1 - self._slot
        need = len(checkpoint) + len(held) + _LEAST_ROOM
        if slot == 0 and need > _SLOT_BYTES:
            # Only the second slot can grow, and it is the one in use.
            self._map_book(len(self._map) + need)
            self._limit = len(self._map)
            self.put_off()
            return
        start = _start(slot)
        if slot == 1 and start + need > len(self._map):
            self._map_book(start + need)
        used = self._number(_slot_at(slot) + _END)
        self._map[start:used] = bytes(used - start)
        head, end = start + len(checkpoint), start + len(checkpoint) + len(held)
        self._map[start:end] = checkpoint + held
        last = 0 if is_read else self._last
        self._write_slot(slot, head, end, last, last)
        _store(self._map, _ACTIVE_AT, slot)
        if is_read:
            os.lseek(self.files[1], 0, os.SEEK_SET)
            if self._last > _WINDOW_BYTES:
                os.ftruncate(self.files[1], _WINDOW_BYTES)
            self._left = 0
        if slot == 0 and len(self._map) > _BOOK_BYTES:
            _store(self._map, _slot_at(1) + _END, min(self._end, _BOOK_BYTES))
            self._map_book(_BOOK_BYTES)
        self._open_slot(slot)
        self._try_again_at = max(_MUCH_SENT, self._last + _LEAST_ROOM)
        self.is_due = self._limit - self._end < _LEAST_ROOM

    # What whoever comes next finds

    def checkpoint(self) -> bytes:
        """How the session stood when this slot was begun; nothing if it had not begun yet."""
        return self._map[_start(self._slot) : self._number(_slot_at(self._slot) + _HEAD)]

    def heard(self) -> bytes:
        """Every byte that was taken from the client since, also those that nobody counted."""
        end = self._map.find(b"\0", self._end, self._limit)
        self._end = end if end >= 0 else self._limit
        _store(self._map, self._end_at, self._end)
        return self._map[self._number(_slot_at(self._slot) + _HEAD) : self._end]

    def said(self) -> bytes:
        """What was sent to the client since, or is to be."""
        at, parts = self._number(_slot_at(self._slot) + _FIRST), [b""]
        while at < self._last and (part := os.pread(self.files[1], self._last - at, at)):
            parts.append(part)
            at += len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._view.release()
        self._map.close()
        self._window.close()
        for file in self.files:
            os.close(file)

    def _open_slot(self, slot: int) -> None:
        self._slot = slot
        self._end_at, self._last_at = _slot_at(slot) + _END, _slot_at(slot) + _LAST
        self._end, self._last = self._number(self._end_at), self._number(self._last_at)
        self._limit = len(self._map) if slot else _start(1)
        self._ready = self._end

    def _write_slot(self, slot: int, *numbers: int) -> None:
        for place, number in enumerate(numbers):
            _store(self._map, _slot_at(slot) + place * _NUMBER.size, number)

    def _map_book(self, size: int) -> None:
        if hasattr(self, "_map"):
            self._view.release()
            self._map.close()
            os.ftruncate(self.files[0], size)
        self._map = mmap(self.files[0], size)
        # Slices of it are what the kernel reads into.
        self._view = memoryview(self._map)

    def _number(self, at: int) -> int:
        return int(_NUMBER.unpack_from(self._map, at)[0])


def _start(slot: int) -> int:
    return _PAGE + slot * _SLOT_BYTES


def _slot_at(slot: int) -> int:
    return _SLOTS_AT + slot * _SLOT_NUMBERS


def _write_at(file: int, data: "bytes | memoryview", at: int) -> None:
    rest = memoryview(data)
    while rest:
        count = os.pwrite(file, rest, at)
        rest, at = rest[count:], at + count
