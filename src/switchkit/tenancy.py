"""Folders that are to go away: whoever keeps programs in one lets go of it first.

A tenant holds a folder for as long as a program of its own stands in it, and looks now and then
whether somebody wants the folder gone. Whoever removes it says so, waits until no tenant holds it,
and nobody enters it until the removal is over. Both are locks, so nothing is left of either when a
process is killed.

A tenant enters first and then looks whether the folder is leaving; a remover says that it is and
then waits for tenants. So one of the two always sees the other.
"""

import os
import time
from fcntl import LOCK_NB, LOCK_SH, flock
from hashlib import sha256
from typing import Self

from switchkit.files import check_private_folder, make_private_folder
from switchkit.locks import is_locked, open_lock, try_lock
from switchkit.platform.paths import true_path

# The same for every window of a user, whichever program and home it has.
_FOLDER = "/tmp"  # noqa: S108 - the folder in it is ours alone, or not used
_PAUSE_S = 0.02
# What cleans temporary folders takes files that nobody has used for days.
_KEPT_S = 3600


class Leaving(Exception):
    """Somebody removes the folder right now."""


class Tenancy:
    """Held while a program stands in a folder. Closing it, or the end of its process, lets go."""

    def __init__(self, folder: str) -> None:
        """Raises `Leaving`; or `OSError` where no lock can be had."""
        place = _place(folder)
        make_private_folder(os.path.dirname(place))
        self._handle = open_lock(f"{place}.tenants")
        self._used_at = time.monotonic()
        os.utime(self._handle)
        try:
            flock(self._handle, LOCK_SH | LOCK_NB)
        except BlockingIOError:
            self.close()
            raise Leaving from None
        if is_leaving(folder):
            self.close()
            raise Leaving

    def keep(self) -> None:
        """Say now and then that it is still held: a lock that was cleaned away holds nobody off."""
        if self._handle >= 0 and time.monotonic() - self._used_at >= _KEPT_S:
            self._used_at = time.monotonic()
            os.utime(self._handle)

    def close(self) -> None:
        """Let go."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def is_leaving(folder: str) -> bool:
    """Whether somebody removes a folder, or waits for its tenants to do that. Makes nothing."""
    place = _place(folder)
    try:
        # Another user who was first to take the name has no say.
        check_private_folder(os.path.dirname(place))
    except OSError:
        return False
    return is_locked(f"{place}.leaving")


class Removal:
    """Keeps tenants out of a folder while its `with` lasts."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._handles: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def vacated(self, wait_s: float) -> bool:
        """Have every tenant let go; says whether all did in time. Raises `OSError`."""
        place = _place(self._folder)
        make_private_folder(os.path.dirname(place))
        until = time.monotonic() + wait_s
        return all(self._held(f"{place}.{name}", until) for name in ("leaving", "tenants"))

    def _held(self, path: str, until: float) -> bool:
        if path not in self._handles:
            self._handles[path] = open_lock(path)
        # Held already, it is held again.
        while not try_lock(self._handles[path]):
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE_S)
        return True

    def __exit__(self, *_: object) -> None:
        while self._handles:
            os.close(self._handles.popitem()[1])


def _place(folder: str) -> str:
    """Where the locks of a folder are, by its real path."""
    name = sha256(os.fsencode(true_path(folder))).hexdigest()[:32]
    return os.path.join(_FOLDER, f"switchkit-trees-{os.getuid()}", name)
