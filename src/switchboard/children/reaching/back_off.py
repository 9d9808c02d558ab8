"""How long to leave a child alone that keeps failing."""

from collections.abc import Callable

_FIRST_S = 0.5
_LONGEST_S = 30.0
# A child that lived this long has earned a fresh start.
_STEADY_S = 10.0


class BackOff:
    """Counts failures in a row. The first retry is free, each later one waits twice as long."""

    def __init__(self, clock: Callable[[], float], *, longest_s: float = _LONGEST_S) -> None:
        self._clock = clock
        self._longest_s = longest_s
        self._retry_at = 0.0
        self.failures = 0

    def fail(self, *, lived_s: float = 0.0) -> None:
        """It failed to start, or ended after living this long."""
        if lived_s >= _STEADY_S:
            self.failures = 0
        self.failures += 1
        if self.failures > 1:
            wait = min(_FIRST_S * 2 ** (self.failures - 2), self._longest_s)
            self._retry_at = self._clock() + wait

    def wait_s(self) -> float:
        """How long until it may be tried again; not above 0 when it may be now."""
        return self._retry_at - self._clock()
