"""The results that sessions have kept. In memory only: none outlives its session or the daemon."""

import os
import time
from collections import deque
from collections.abc import Callable

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Session
from switchboard.results.kept_result import KeptResult
from switchboard.results.reading_room import ReadingRoom

MOST_BYTES = 128 * 1024 * 1024
MOST_BYTES_OF_ONE = 32 * 1024 * 1024
MOST_OF_ONE = 256
_MOST_GONE = 1_024
_LONGEST_HANDLE = 64
# A client without a session never leaves. Nor does one whose call ended after it.
_IDLE_S = 3_600.0
_IDLE_SESSION_S = 86_400.0


class _Shelf:
    """The results of one holder, the oldest first."""

    def __init__(self, idle_s: float) -> None:
        self.kept: dict[str, KeptResult] = {}
        self.size = 0
        self.count = 0
        # What is not there any more, so that it can be told from what never was.
        self.gone: deque[str] = deque(maxlen=_MOST_GONE)
        self.idle_s = idle_s
        self.used_at = 0.0


class ResultStore:
    """Bounded in all directions: the oldest results go first."""

    def __init__(
        self,
        *,
        # Which gateway of a team this is: its name is in every handle, so that others know whom
        # to ask for the result.
        place: str = "",
        most_bytes: int = MOST_BYTES,
        most_bytes_of_one: int = MOST_BYTES_OF_ONE,
        most_of_one: int = MOST_OF_ONE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._place = f"{place}-" if place else ""
        self._most = most_bytes
        self._most_of_one = most_bytes_of_one
        self._most_count = most_of_one
        self._clock = clock
        # The one that was used last comes last.
        self._shelves: dict[str, _Shelf] = {}
        self._size = 0
        self.room = ReadingRoom()

    def new_handle(self, session: Session) -> str:
        """A name for one more result of a session."""
        shelf = self._shelf(session)
        shelf.count += 1
        # Nobody can guess it: clients without a session may share a shelf.
        return f"r{shelf.count}-{self._place}{os.urandom(6).hex()}"

    def keep(self, session: Session, kept: KeptResult) -> bool:
        """Keep a result under its handle, if there is room for it at all."""
        if kept.size > min(self._most, self._most_of_one):
            return False
        shelf = self._shelf(session)
        shelf.kept[kept.handle] = kept
        shelf.size += kept.size
        self._size += kept.size
        while shelf.size > self._most_of_one or len(shelf.kept) > self._most_count:
            self._drop_oldest(shelf)
        while self._size > self._most:
            # Who has used theirs least recently; the shelf of this one is the last.
            self._drop_oldest(next(each for each in self._shelves.values() if each.kept))
        return True

    def find(self, session: Session, handle: str) -> KeptResult:
        """A result of this session. One of another is as unknown as one that never was."""
        shelf = self._shelves.get(session.holder)
        if shelf is not None:
            self._touch(session.holder, shelf)
            if handle in shelf.kept:
                return shelf.kept[handle]
            if handle in shelf.gone:
                raise Fault(
                    FaultCode.NOT_FOUND,
                    "result-gone",
                    f"result `{handle}` had to make room for later ones",
                    hint="call the tool again",
                )
        shown = f" `{handle}`" if len(handle) <= _LONGEST_HANDLE else ""
        raise Fault(
            FaultCode.NOT_FOUND,
            "unknown-result",
            f"no result{shown} is kept for this session",
            hint="results are gone when their session or the daemon ends: call the tool again",
        )

    def leave(self, holder: str) -> None:
        """A session has ended, and with it all that was kept for it."""
        shelf = self._shelves.pop(holder, None)
        if shelf is not None:
            self._size -= shelf.size

    def _shelf(self, session: Session) -> _Shelf:
        now = self._clock()
        for holder, each in tuple(self._shelves.items()):
            if now - each.used_at > each.idle_s:
                self.leave(holder)
        holder = session.holder
        shelf = self._shelves.get(holder)
        if shelf is None:
            shelf = _Shelf(_IDLE_SESSION_S if holder == session.id else _IDLE_S)
        self._touch(holder, shelf)
        return shelf

    def _touch(self, holder: str, shelf: _Shelf) -> None:
        shelf.used_at = self._clock()
        self._shelves.pop(holder, None)
        self._shelves[holder] = shelf

    def _drop_oldest(self, shelf: _Shelf) -> None:
        handle, kept = next(iter(shelf.kept.items()))
        del shelf.kept[handle]
        shelf.gone.append(handle)
        shelf.size -= kept.size
        self._size -= kept.size
