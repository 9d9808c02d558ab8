"""The workspaces that one child works for, as far as what it prints can be told apart."""

import asyncio
from collections.abc import Callable

# A process may print for so long after its answer what it has to say of a call.
_LATE_S = 2.0


class Callers:
    """Knows whose a line is that a child prints. What cannot be told is nobody's."""

    __slots__ = ("_ever", "_in_flight", "_last_used", "_now", "only")

    def __init__(self, in_flight: Callable[[], int], last_used: Callable[[], float]) -> None:
        """Told how many requests are open, and when the last was over by the clock of the loop."""
        self._in_flight = in_flight
        self._last_used = last_used
        self._ever: set[str] = set()
        # Those whose requests may be under way, or answered just now.
        self._now: set[str] = set()
        # The only one of those; none before the first, or where there are several.
        self.only: str | None = None

    def come(self, workspace: str) -> None:
        """A session of a workspace is about to use it. Says nothing new of the only one."""
        quiet_s = asyncio.get_running_loop().time() - self._last_used()
        if not self._in_flight() and quiet_s > _LATE_S:
            self._now = set()
        self._now.add(workspace)
        self._ever.add(workspace)
        self.only = workspace if len(self._now) == 1 else None

    def of_line(self) -> str:
        """The workspace that what is printed now is about; empty where that is not plain."""
        if len(self._ever) == 1:
            return next(iter(self._ever))
        # What it says by itself may be about anybody.
        return next(iter(self._now)) if self._in_flight() and len(self._now) == 1 else ""
