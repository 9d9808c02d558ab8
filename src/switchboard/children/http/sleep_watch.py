"""Noticing that the machine slept: the clock on the wall went on, and the steady one did not."""

import time

# What the clock on the wall may be set forward by without having slept.
_SLACK_S = 2.0


class SleepWatch:
    """Compares two clocks, whenever it is asked."""

    def __init__(self) -> None:
        self._apart = time.time() - time.monotonic()

    def has_slept(self) -> bool:
        """Whether the machine slept since somebody last asked, or its clock was set forward."""
        before, self._apart = self._apart, time.time() - time.monotonic()
        return self._apart - before > _SLACK_S
