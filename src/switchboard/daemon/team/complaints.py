"""What DBOS complains about, in as few words as tell it: without a database it never stops."""

import time
from collections.abc import Callable

from switchboard.postgres.address import DatabaseAddress

_AGAIN_S = 60.0
_MOST = 200
# Complaints that begin so are the same.
_BEGINNING = 40
_MOST_KINDS = 100


class Complaints:
    """Passes on the first line of each kind once a minute. May be called on any thread."""

    def __init__(self, address: DatabaseAddress, tell: Callable[[str], None]) -> None:
        self._address = address
        self._tell = tell
        self._told: dict[str, float] = {}

    def __call__(self, message: str) -> None:
        line = message.partition("\n")[0].partition(": Traceback")[0][:_MOST]
        now = time.monotonic()
        if now - self._told.get(line[:_BEGINNING], -_AGAIN_S) < _AGAIN_S:
            return
        if len(self._told) >= _MOST_KINDS:
            self._told.clear()
        self._told[line[:_BEGINNING]] = now
        self._tell(self._address.without_secret(line))
