"""Locks that the kernel lets go of when their holder dies. Light: a client waits for the shim."""

import os
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock

from switchkit.files import open_private


class FolderLock:
    """Holds a folder, so that of two who make something in it one is first, while `with` lasts."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self._handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> None:
        flock(self._handle, LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


class FileLock:
    """Holds a lock file, made if need be, while its `with` lasts.

    The kernel lets go of it when the process dies.
    """

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self._handle = open_lock(path)

    def __enter__(self) -> None:
        flock(self._handle, LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def open_lock(path: "str | os.PathLike[str]") -> int:
    """A descriptor of a lock file of ours alone, made if need be. Nothing is held yet."""
    return open_private(path, os.O_RDWR | os.O_CREAT)


def try_lock(handle: int) -> bool:
    """Hold the file if nobody else does. Closing the descriptor lets go."""
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: "str | os.PathLike[str]") -> bool:
    """Whether somebody holds the lock file now. Makes nothing."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        flock(handle, LOCK_SH | LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(handle)
