"""The file of a vault on disk: read only if it is ours alone, replaced whole, under one lock."""

import os
import re
import stat
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

from switchboard.vault.faults import fault_from_access, fault_from_busy, fault_from_size
from switchkit.files import (
    NotPrivate,
    make_private_folder,
    open_private,
    replace_file,
    sync_folder,
)
from switchkit.locks import open_lock, try_lock

# Who sees the same of these sees the same bytes: each write makes another file.
Signature = tuple[int, int, int, int]

FILE = "vault.json"
LOCK = "vault.lock"
_OTHERS = 0o077
# A write takes some milliseconds; whoever holds the lock for longer was stopped.
_PATIENCE_S = 10.0
_LOOK_AGAIN_S = 0.01
# A thousand secrets take a quarter of a megabyte. What is not read must not be written either.
_MOST_BYTES = 64 * 1024 * 1024


class VaultFile:
    """One vault file, its folder and its lock. It does not know what it holds."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, FILE)

    def signature(self) -> Signature | None:
        """Tells two states of the file apart; nothing where there is none. Raises a fault."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise fault_from_access("the vault", error) from error
        # The mode and the owner count: a file that others were let into is refused at once.
        return (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)

    def read(self) -> bytes | None:
        """The bytes; nothing where there is no file. Raises a fault."""
        try:
            self._check_folder()
            handle = open_private(self.path, os.O_RDONLY, mend=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise fault_from_access("the vault", error) from error
        with os.fdopen(handle, "rb") as file:
            try:
                return file.read(_MOST_BYTES)
            except OSError as error:
                raise fault_from_access("the vault", error) from error

    @contextmanager
    def writing(self) -> Generator[None]:
        """Nobody else writes while this lasts. Raises a fault after a while."""
        try:
            # Made for us alone; one that is there is left as it is, and judged.
            if not os.path.lexists(self.folder):
                make_private_folder(self.folder)
            self._check_folder()
            handle = open_lock(os.path.join(self.folder, LOCK))
        except OSError as error:
            raise fault_from_access("the folder of the vault", error) from error
        try:
            until = time.monotonic() + _PATIENCE_S
            pause = threading.Event()
            while not try_lock(handle):
                if time.monotonic() > until:
                    raise fault_from_busy()
                pause.wait(_LOOK_AGAIN_S)
            self._sweep()
            yield
        finally:
            os.close(handle)

    def write(self, data: bytes) -> None:
        """Replace the file. It is on disk when this returns. Raises a fault, and nothing changed.

        To be called while `writing`.
        """
        if len(data) > _MOST_BYTES:
            raise fault_from_size(_MOST_BYTES)
        try:
            replace_file(self.path, data)
            sync_folder(self.folder)
        except OSError as error:
            raise fault_from_access("the vault", error) from error

    def _sweep(self) -> None:
        """Remove what writers left that were killed: who holds the lock is the only one."""
        for name in os.listdir(self.folder):
            if re.fullmatch(r"\.[a-z0-9.-]+\.\d+\.[0-9a-f]{8}", name):
                with suppress(OSError):
                    os.unlink(os.path.join(self.folder, name))

    def _check_folder(self) -> None:
        found = os.lstat(self.folder)
        shown = f"`{self.folder}`"
        if not stat.S_ISDIR(found.st_mode):
            raise NotPrivate(shown, "lies in something that is not a folder")
        if found.st_uid != os.getuid():
            raise NotPrivate(shown, f"lies in a folder of user {found.st_uid}")
        if found.st_mode & _OTHERS:
            raise NotPrivate(shown, "lies in a folder that other users can open")
