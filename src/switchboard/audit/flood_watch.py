"""Who writes so much that the log is soon full of it."""

import time
from collections.abc import Callable

RECORDS_A_MINUTE = 6_000
_WINDOW_S = 60.0
_MOST_SESSIONS = 4_096


class FloodWatch:
    """Counts the records of each session, minute by minute."""

    def __init__(
        self,
        *,
        most: int = RECORDS_A_MINUTE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._clock = clock
        self._since = clock()
        self._counts: dict[str, int] = {}
        self._told: set[str] = set()

    def is_news(self, session: str) -> bool:
        """Count a record. Whether its session has just written too much, for the first time."""
        if not session:
            return False
        now = self._clock()
        if now - self._since >= _WINDOW_S:
            self._since = now
            self._counts.clear()
        count = self._counts[session] = self._counts.get(session, 0) + 1
        if count <= self._most or session in self._told:
            return False
        if len(self._told) >= _MOST_SESSIONS:
            self._told.clear()
        self._told.add(session)
        return True
