"""What one server asked lately about hosts, and what it was denied."""

import time
from collections import deque
from collections.abc import Callable

# After a no there is peace for so long.
_AFTER_NO_S = 300.0
# However often its process is started anew.
MOST_QUESTIONS = 20
_WITHIN_S = 3_600.0


class AskedBefore:
    """It outlives the process of the server: nobody gets another question by ending itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._denied_until: dict[str, float] = {}
        self._asked: deque[float] = deque()

    def is_denied(self, where: str) -> bool:
        """Whether somebody said no a short while ago."""
        return self._denied_until.get(where, 0.0) > self._clock()

    def deny(self, where: str) -> None:
        """Somebody said no."""
        now = self._clock()
        self._denied_until = {
            each: until for each, until in self._denied_until.items() if until > now
        }
        self._denied_until[where] = now + _AFTER_NO_S

    def forget(self, where: str) -> bool:
        """It may be asked again at once; whether it could not."""
        return self._denied_until.pop(where, 0.0) > self._clock()

    def may_ask(self) -> bool:
        """Count one more question, unless there were too many."""
        now = self._clock()
        while self._asked and self._asked[0] <= now - _WITHIN_S:
            self._asked.popleft()
        if len(self._asked) >= MOST_QUESTIONS:
            return False
        self._asked.append(now)
        return True
