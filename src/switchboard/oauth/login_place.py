"""What processes that share logins say to each other, beside the vault: by files of the home."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Protocol

from switchboard.oauth.faults import login_busy, logins_unusable
from switchkit.files import make_private_file, make_private_folder, open_private
from switchkit.locks import open_lock, try_lock

FOLDER = "state/logins"
_STAMP = "changed"
# An empty file for each entry whose server has asked for a login.
_WANTED = ".wanted"
# A renewal takes as long as the web takes; who waits for it looks again so often.
LOOK_S = 0.05
LONGEST_WAIT_S = 60.0
# Nobody logs in, or out, and calls within this time; a token that was revoked meanwhile is refused,
# and then the store is read in any case.
_GOOD_FOR_S = 0.02


class LoginPlace(Protocol):
    """Which logins have changed, which are being changed, and which are wanted.

    `changed`, `note_wanted` and `is_wanted` block.
    """

    def stamp(self) -> int:
        """Another number soon after every change, by whichever process; at once after one of ours.

        Each request asks for it, so it never waits.
        """
        ...

    def changed(self) -> None:
        """Tell everybody that a login is another. Raises a fault."""
        ...

    def locked(self, reference: str, /) -> AbstractAsyncContextManager[None]:
        """Hold one login, against every other process and task. Raises a fault.

        Whoever dies lets go of it.
        """
        ...

    def note_wanted(self, entry: str, /) -> None:
        """Remember that the server of an entry wants a login, as far as that is possible."""
        ...

    def is_wanted(self, entry: str, /) -> bool:
        """Whether the server of an entry has wanted a login."""
        ...


class LoginFiles:
    """The `LoginPlace` of a home."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, FOLDER)
        self._stamp = os.path.join(self._folder, _STAMP)
        # The last look at the stamp, and until when it is good enough.
        self._seen = 0
        self._look_at = 0.0

    def stamp(self) -> int:
        # Mostly no more than a glance at the clock.
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + _GOOD_FOR_S
            try:
                self._seen = os.stat(self._stamp).st_mtime_ns
            except OSError:
                self._seen = 0
        return self._seen

    def changed(self) -> None:
        try:
            make_private_folder(self._folder)
            os.close(open_private(self._stamp, os.O_RDWR | os.O_CREAT))
            # Finer than the clock of the file system: two changes in a row are two.
            now = time.time_ns()
            os.utime(self._stamp, ns=(now, now))
        except OSError as error:
            raise logins_unusable(error) from error
        self._look_at = 0.0

    def note_wanted(self, entry: str, /) -> None:
        # Whoever cannot write this down sees one line less in a table.
        with suppress(OSError):
            make_private_folder(self._folder)
            make_private_file(self._wanted_file(entry))

    def is_wanted(self, entry: str, /) -> bool:
        return os.path.lexists(self._wanted_file(entry))

    def _wanted_file(self, entry: str) -> str:
        return os.path.join(self._folder, entry.rpartition("/")[2] + _WANTED)

    @asynccontextmanager
    async def locked(self, reference: str, /) -> AsyncGenerator[None]:
        """As `LoginPlace.locked`; the kernel lets go of it when the process dies."""
        handle = await asyncio.to_thread(self._open_lock, reference)
        try:
            deadline = time.monotonic() + LONGEST_WAIT_S
            while not try_lock(handle):
                if time.monotonic() > deadline:
                    raise login_busy()
                await asyncio.sleep(LOOK_S)
            yield
        finally:
            os.close(handle)

    def _open_lock(self, reference: str) -> int:
        try:
            make_private_folder(self._folder)
            return open_lock(os.path.join(self._folder, f"{reference.rpartition('/')[2]}.lock"))
        except OSError as error:
            raise logins_unusable(error) from error
