"""The lock of a home, for whoever changes what its user has decided."""

from collections.abc import Generator
from contextlib import contextmanager

from switchboard.config.problems import ConfigInvalid, Problem
from switchkit.files import make_folder
from switchkit.locks import FolderLock


@contextmanager
def home_lock(home: str) -> Generator[None]:
    """Nobody else changes the records of the home meanwhile. Raises `ConfigInvalid`."""
    try:
        make_folder(home)
        lock = FolderLock(home)
    except OSError as refused:
        why = f"the folder cannot be used: {(refused.strerror or '').lower()}"
        raise ConfigInvalid([Problem(path=home, message=why)]) from refused
    with lock:
        yield
