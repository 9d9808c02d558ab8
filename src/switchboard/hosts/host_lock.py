"""The lock that some hosts take while they write: a folder beside their file."""

import os
import time
from contextlib import suppress
from threading import Event
from types import TracebackType

from switchboard.hosts.change import Placed
from switchboard.hosts.table import host_named

# Hosts renew theirs every few seconds; one this old is of a host that was killed.
_STALE_S = 10.0
# Longer than that, or one that we left when we were killed would be in our own way.
_PATIENCE_S = 12.0
_PAUSE_S = 0.05


class HostLock:
    """Holds the lock of one file while `with` lasts. Raises `BlockingIOError` if it is not free."""

    def __init__(self, path: str, *, patience_s: float = _PATIENCE_S) -> None:
        self._folder = f"{path}.lock"
        self._patience_s = patience_s
        # Nobody sets it: hosts say nothing when they let go.
        self._pause = Event()

    def __enter__(self) -> None:
        until = time.monotonic() + self._patience_s
        while not self._take():
            if time.monotonic() > until:
                raise BlockingIOError(0, "its host is writing it just now; run this again")
            self._pause.wait(_PAUSE_S)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Its host may have taken ours for stale.
        with suppress(OSError):
            os.rmdir(self._folder)

    def _take(self) -> bool:
        try:
            os.mkdir(self._folder)
        except FileExistsError:
            self.remove_stale()
            return False
        return True

    def remove_stale(self) -> None:
        """Remove a lock that nobody can hold any more, as one that we left when we were killed."""
        # Whoever holds it may let go meanwhile.
        with suppress(OSError):
            if time.time() - os.stat(self._folder).st_mtime > _STALE_S:
                os.rmdir(self._folder)


def lock_of(place: Placed) -> HostLock | None:
    """The lock that a host takes for this file, if it takes any."""
    host = host_named(place.host)
    return HostLock(place.path) if host is not None and host.has_lock else None
