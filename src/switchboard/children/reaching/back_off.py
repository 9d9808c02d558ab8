"""How long to leave a child alone that keeps failing, and who has to."""

import asyncio
from collections.abc import Callable, Collection

from switchboard.children.faults import fault_from_back_off
from switchboard.core.faults import Fault

_FIRST_S = 0.5
_LONGEST_S = 30.0
# A child that lived this long, or a session that did no harm for so long, has a fresh start.
_STEADY_S = 10.0
# The reason of a fault that says nothing of the server itself: another gateway is to run it.
ELSEWHERE = "singleton-elsewhere"
# A wait this short is not worth an error.
SHORT_WAIT_S = 1.0
# Of so many sessions it is known at once that their calls end the child.
_MOST_CALLERS = 256


class BackOff:
    """Counts failures in a row. The first retry is free, each later one waits twice as long."""

    def __init__(self, clock: Callable[[], float], *, longest_s: float = _LONGEST_S) -> None:
        self._clock = clock
        self._longest_s = longest_s
        # When it was, or will be, free to try again.
        self._retry_at = 0.0
        self.failures = 0

    def fail(self, *, lived_s: float = 0.0) -> None:
        """It failed to start, or ended after living this long."""
        if lived_s >= _STEADY_S:
            self.failures = 0
        self.failures += 1
        wait = 0.0
        if self.failures > 1:
            wait = min(_FIRST_S * 2 ** (self.failures - 2), self._longest_s)
        self._retry_at = self._clock() + wait

    def wait_s(self) -> float:
        """How long until it may be tried again; not above 0 when it may be now."""
        return self._retry_at - self._clock()


class BackOffs:
    """The patience with one child: everybody's, and that of each session that ends it.

    A start that fails fails for whoever comes next. What ends a running child is a call: its
    session waits, and everybody else gets another start.
    """

    def __init__(self, clock: Callable[[], float], *, longest_s: float = _LONGEST_S) -> None:
        self._clock = clock
        self._longest_s = longest_s
        self._child = BackOff(clock, longest_s=longest_s)
        # By session, the one that failed last at the end: those that have to leave a child alone
        # that runs. Read by every call.
        self.callers: dict[str, BackOff] = {}

    def start_failed(self) -> None:
        """It could not be started: whoever asks meets that."""
        self._child.fail()

    def ended(self, callers: Collection[str], has_answered: bool, *, lived_s: float) -> None:
        """It ended by itself while it worked for these sessions.

        Where it worked for none, but had answered somebody, it is worth another start: who wants
        one makes a call for it, and no session can keep it from the rest by what it left behind.
        """
        for caller in callers:
            back_off = self.callers.pop(caller, None)
            if back_off is None:
                back_off = BackOff(self._clock, longest_s=self._longest_s)
            back_off.fail(lived_s=-back_off.wait_s())
            self.callers[caller] = back_off
        while len(self.callers) > _MOST_CALLERS:
            del self.callers[next(iter(self.callers))]
        if not callers and not has_answered:
            self._child.fail(lived_s=lived_s)

    def answered(self, caller: str) -> None:
        """It answered this session, whose calls do not all end it then."""
        self.callers.pop(caller, None)

    def leave(self, caller: str) -> None:
        """A session has ended."""
        self.callers.pop(caller, None)

    async def wait_out(self, caller: str, name: str, last: Fault | None) -> None:
        """Wait until this session may have it. Raises a fault where that is long."""
        self.callers = {
            each: back_off
            for each, back_off in self.callers.items()
            if -back_off.wait_s() < _STEADY_S
        }
        back_off = max(
            (self._child, self.callers.get(caller, self._child)), key=lambda each: each.wait_s()
        )
        wait = back_off.wait_s()
        if wait > SHORT_WAIT_S:
            raise fault_from_back_off(name, back_off.failures, wait, last)
        if wait > 0:
            await asyncio.sleep(wait)
