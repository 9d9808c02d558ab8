"""Whether the other side of a stream has taken what it was sent."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable

from switchkit.platform import Unknown
from switchkit.platform.system import unread_bytes

Told = Callable[[], None]

# How often it is looked whether the other side has read on.
_FIRST_S, _LONGEST_S = 0.01, 0.5


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
