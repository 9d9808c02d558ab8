"""Looks after the walls of one process, on the loop, and has it end when one has fallen."""

import asyncio
import select
from collections.abc import Callable

from switchboard.core.faults import Fault
from switchboard.procs.wrapped import Vigil

# Whoever makes files without end inside must not keep the loop busy.
_PAUSE_S = 0.05
# Where the system tells nothing by itself.
_ROUND_S = 0.5
# Some loops listen a round after they were told to, and a bell that rang until then was in vain.
# The second look comes after that round, however long it took.
_EARLY_LOOKS = 2


class WallWatch:
    """The watch over one process, from its start to its end."""

    def __init__(self, vigil: Vigil, fall: Callable[[], None]) -> None:
        self._vigil = vigil
        self._fall = fall
        self._loop = asyncio.get_running_loop()
        self._listens = False
        self._hears_bell = False
        # Whether the bell rang in a pause.
        self._is_due = False
        self._ended = False
        self._next: asyncio.TimerHandle | None = None
        self._early: asyncio.TimerHandle | None = None
        # Why it was made to end.
        self.breach: Fault | None = None

    def start(self) -> None:
        """Begin to look. What changed since the start is told at once."""
        if self._vigil.handle is None:
            self._look()
            return
        if self._vigil.bell is not None:
            self._hears_bell = True
            self._loop.add_reader(self._vigil.bell, self._ring)
            self._look_early(_EARLY_LOOKS)
        self._listen()

    def stands(self) -> bool:
        """Whether nothing has fallen up to now, for whoever is about to pass on what it said.

        What it could read since a guard was lost was told to us before it could read it.
        """
        if not self._ended and self._has_news():
            self._look()
        return self.breach is None

    def _has_news(self) -> bool:
        if self._vigil.handle is None or self._is_due:
            return True
        news = select.poll()
        for each in (self._vigil.handle, self._vigil.bell):
            if each is not None:
                news.register(each, select.POLLIN)
        return bool(news.poll(0))

    def stop(self) -> None:
        """It has ended."""
        if not self._ended:
            self._ended = True
            self._deafen()
            if self._hears_bell and self._vigil.bell is not None:
                self._loop.remove_reader(self._vigil.bell)
            for each in (self._next, self._early):
                if each is not None:
                    each.cancel()
            # The kernel may take milliseconds for it, and nobody waits.
            self._loop.run_in_executor(None, self._vigil.close)

    def _look_early(self, times: int) -> None:
        self._early = self._loop.call_later(_PAUSE_S, self._look_and_again, times)

    def _look_and_again(self, times: int) -> None:
        self._early = None
        self._look()
        if times > 1 and not self._ended:
            self._look_early(times - 1)

    def _ring(self) -> None:
        if self._next is None:
            self._look()
        else:
            self._is_due = True

    def _look(self) -> None:
        if self._ended:
            return
        self._deafen()
        if self._next is not None:
            self._next.cancel()
            self._next = None
        self._is_due = False
        self.breach = self._vigil.look()
        if self.breach is not None:
            self.stop()
            self._fall()
        elif self._vigil.handle is None:
            self._next = self._loop.call_later(_ROUND_S, self._look)
        else:
            self._next = self._loop.call_later(_PAUSE_S, self._go_on)

    def _go_on(self) -> None:
        """The pause is over."""
        self._next = None
        if self._is_due:
            self._look()
        else:
            self._listen()

    def _listen(self) -> None:
        if not self._ended and not self._listens and self._vigil.handle is not None:
            self._listens = True
            self._loop.add_reader(self._vigil.handle, self._look)

    def _deafen(self) -> None:
        if self._listens and self._vigil.handle is not None:
            self._listens = False
            self._loop.remove_reader(self._vigil.handle)
