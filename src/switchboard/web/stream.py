"""What happens, numbered, for pages that follow: bounded, and nobody waits for a page.

Events are kept once for all pages. Each page has a place among them and gets, at most twenty times
a second, everything after it as one message. One that comes back says where it was; if that is too
far back it is told to ask for everything anew.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct

Follow = Callable[[Callable[[str], None]], Callable[[], None]]

_KEPT = 2_000
_MOST_DIGITS = 18
_TOGETHER_S = 0.05
_SOON_S = 0.005
# A page that is loaded again finds its place, and the daemon does not write events for nobody.
_LINGERS_S = 60.0


class Batch(Struct, frozen=True):
    """Events as one list of JSON, and the place after them."""

    place: int
    body: bytes


class EventStream:
    """The events that pages follow."""

    def __init__(self, follow: Follow) -> None:
        self._follow = follow
        self._events: deque[str] = deque(maxlen=_KEPT)
        # The place after the newest event.
        self._place = 0
        self._era = ""
        self._news = asyncio.Event()
        self._is_waking = False
        self._woke_at = 0.0
        self._latest = (0, Batch(0, b"[]"))
        self._forget: Callable[[], None] | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self.readers = 0

    @contextmanager
    def reading(self) -> Generator[None]:
        """Events are heard while somebody reads, and a while longer."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        if self._forget is None:
            # What happened meanwhile is not among them: no earlier place is one of these.
            self._era = secrets.token_hex(4)
            self._forget = self._follow(self._note)
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1
            if not self.readers:
                loop = asyncio.get_running_loop()
                self._leaving = loop.call_later(_LINGERS_S, self.close)

    def close(self) -> None:
        """Hear nothing any more."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        if self._forget is not None:
            self._forget()
            self._forget = None

    def now(self) -> int:
        """The place after everything that has happened."""
        return self._place

    def found(self, name: str) -> int | None:
        """The place of that name, unless what came after it is not known any more."""
        era, _, number = name.partition("-")
        # No place has so many digits; and to read very many of them is refused.
        if era != self._era or not number.isdecimal() or len(number) > _MOST_DIGITS:
            return None
        place = int(number)
        return place if self._place - len(self._events) <= place <= self._place else None

    def name_of(self, place: int) -> str:
        """By what a page tells where it was."""
        return f"{self._era}-{place}"

    async def after(self, place: int) -> Batch | None:
        """Wait for what comes after a place; nothing if that is too far back."""
        while place >= self._place:
            await self._news.wait()
        missed = self._place - place
        if missed > len(self._events):
            return None
        since, batch = self._latest
        if since != place or batch.place != self._place:
            events = list(self._events)[-missed:]
            batch = Batch(self._place, f"[{','.join(events)}]".encode())
            self._latest = (place, batch)
        return batch

    def _note(self, line: str) -> None:
        self._events.append(line)
        self._place += 1
        if not self._is_waking:
            self._is_waking = True
            # What comes alone is told at once, and what comes in crowds together.
            loop = asyncio.get_running_loop()
            loop.call_at(max(loop.time() + _SOON_S, self._woke_at + _TOGETHER_S), self._wake)

    def _wake(self) -> None:
        self._is_waking = False
        self._woke_at = asyncio.get_running_loop().time()
        news, self._news = self._news, asyncio.Event()
        news.set()
