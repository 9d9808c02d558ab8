"""Whether the other side of a stream has taken what it was sent."""

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable
from select import poll

from switchkit.platform import Unknown
from switchkit.platform.streams import unread_bytes, was_cut_off

Told = Callable[[], None]


class Intake:
    """How much of a stream the other side has taken, for who looks now and then."""

    __slots__ = ("_look", "is_cut_off", "is_over", "number", "taken")

    def __init__(self, look: "Callable[[], int | None]") -> None:
        """`look` says how much that is, or nothing where the stream is closed already."""
        self._look: Callable[[], int | None] = look
        self.is_cut_off = False
        # The stream, or negative where that is not known.
        self.number = -1
        self.taken = 0
        self.is_over = False

    def look(self) -> int:
        """How much it has taken so far."""
        if not self.is_over and not self.is_cut_off and (taken := self._look()) is not None:
            self.taken = taken
        return self.taken

    def lose(self) -> None:
        """The other side may be gone. What a socket has not delivered then it forgets."""
        if self.number >= 0 and was_cut_off(self.number):
            self.is_cut_off = True

    @property
    def is_open(self) -> bool:
        """Whether somebody is there who may still read what is left."""
        if self.number < 0 or self.is_cut_off:
            return False
        watching = poll()
        watching.register(self.number, 0)
        return not watching.poll(0)

    def close(self, *, is_trusted: bool = False) -> None:
        """The stream is about to be closed: from now on nothing more is taken.

        Where it is left to somebody else, all that was sent gets there.
        """
        if not self.is_over:
            self.lose()
            self.look()
            self.is_over = True
            self.number = -1
        if is_trusted:
            self.taken = sys.maxsize


# How often it is looked whether the other side has read on.
_FIRST_S, _LONGEST_S = 0.01, 0.5


def unread_of(number: int) -> int:
    """How much of what was written the other side has not read, as far as the system knows."""
    try:
        return unread_bytes(number) if number >= 0 else 0
    except Unknown:
        return 0


class Receipts:
    """Tells when what was sent up to some point was read, where the system knows, else written.

    While somebody waits to be told it holds a descriptor of its own: the stream may be closed, and
    its number be that of another file, before it is known what was read.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Told]] = deque()
        self._handle = -1
        self._timer: asyncio.TimerHandle | None = None
        self._wait_s = _FIRST_S

    def add(self, mark: int, tell: Told, *, number: int, written: Callable[[], int]) -> None:
        """Tell when the first `mark` bytes were read.

        `number` is the stream, or negative; `written` says how much has left this process.
        """
        if self._handle < 0 <= number:
            with contextlib.suppress(OSError):
                self._handle = os.dup(number)
        self._waiting.append((mark, tell))
        self._wait_s = _FIRST_S
        self._plan(written)

    def look(self, written: int) -> None:
        """See how far the other side has read, and tell who waits for it."""
        if not self._waiting:
            return
        with contextlib.suppress(Unknown):
            written -= unread_bytes(self._handle)
        while self._waiting and self._waiting[0][0] <= written:
            self._waiting.popleft()[1]()
        if not self._waiting:
            self.close()

    def close(self) -> None:
        """Nobody will be told any more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _plan(self, written: Callable[[], int]) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._wait_s, self._ring, written)

    def _ring(self, written: Callable[[], int]) -> None:
        self._timer = None
        self._wait_s = min(self._wait_s * 2, _LONGEST_S)
        self.look(written())
        if self._waiting:
            self._plan(written)
