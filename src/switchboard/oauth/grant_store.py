"""Logins in the vault, found by what an entry says, changed by one process at a time."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import msgspec

from switchboard.core.stores import VaultStore
from switchboard.oauth.faults import login_busy, logins_unusable
from switchboard.oauth.grant import Grant
from switchkit.files import make_private_file, make_private_folder, open_private
from switchkit.locks import open_lock, try_lock

FOLDER = "state/logins"
_STAMP = "changed"
# An empty file for each entry whose server has asked for a login.
_WANTED = ".wanted"
# A renewal takes as long as the web takes; who waits for it looks again so often.
_LOOK_S = 0.05
_LONGEST_WAIT_S = 60.0
# Nobody logs in, or out, and calls within this time; a token that was revoked meanwhile is refused,
# and then the store is read in any case.
_GOOD_FOR_S = 0.02


class GrantStore:
    """Every login of a home. Its methods block, but for `locked` and `stamp`."""

    def __init__(self, home: str, vault: Callable[[], VaultStore]) -> None:
        self._folder = os.path.join(home, FOLDER)
        self._stamp = os.path.join(self._folder, _STAMP)
        self._vault = vault
        # The last look at the stamp, and until when it is good enough.
        self._seen = 0
        self._look_at = 0.0

    def stamp(self) -> int:
        """Another number soon after every change, by whichever process; at once after one of ours.

        Each request asks for it, so it is mostly no more than a glance at the clock.
        """
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + _GOOD_FOR_S
            try:
                self._seen = os.stat(self._stamp).st_mtime_ns
            except OSError:
                self._seen = 0
        return self._seen

    def find(self, entry: str) -> Grant | None:
        """The login that an entry uses. Raises a fault when the vault cannot be used."""
        vault = self._vault()
        reference = vault.get(entry)
        told = vault.get(reference) if reference else None
        if told is None:
            return None
        try:
            return msgspec.json.decode(told, type=Grant)
        except msgspec.MsgspecError:
            # Of another version, or damaged: as good as none.
            return None

    def keep(self, entry: str, grant: Grant) -> None:
        """Keep a login, in place of an earlier one; it is on disk on return. Raises a fault."""
        vault = self._vault()
        vault.put(grant.reference, msgspec.json.encode(grant).decode())
        before = vault.get(entry)
        if before != grant.reference:
            vault.put(entry, grant.reference)
            if before is not None:
                # A client that was registered for the last login is used by nobody any more.
                vault.delete(before)
        self._changed()

    async def replace(self, entry: str, grant: Grant) -> Grant | None:
        """Keep a login that was made just now; gives the one before. Raises a fault.

        Whoever renews that one finishes first, or finds that there is another.
        """
        before = await asyncio.to_thread(self.find, entry)
        held = {grant.reference, *([before.reference] if before is not None else [])}
        async with AsyncExitStack() as stack:
            for reference in sorted(held):
                await stack.enter_async_context(self.locked(reference))
            before = await asyncio.to_thread(self.find, entry)
            await asyncio.to_thread(self.keep, entry, grant)
        return before

    def forget(self, entry: str) -> bool:
        """Forget the login of an entry. False when there was none."""
        vault = self._vault()
        reference = vault.get(entry)
        if reference is None:
            return False
        self.note_wanted(entry)
        vault.delete(reference)
        vault.delete(entry)
        self._changed()
        return True

    def note_wanted(self, entry: str) -> None:
        """Remember that the server of an entry wants a login, also while there is none."""
        # Whoever cannot write this down sees one line less in a table.
        with suppress(OSError):
            make_private_folder(self._folder)
            make_private_file(self._wanted_file(entry))

    def is_wanted(self, entry: str) -> bool:
        """Whether the server of an entry has wanted a login."""
        return os.path.lexists(self._wanted_file(entry))

    def _wanted_file(self, entry: str) -> str:
        return os.path.join(self._folder, entry.rpartition("/")[2] + _WANTED)

    def _changed(self) -> None:
        try:
            make_private_folder(self._folder)
            os.close(open_private(self._stamp, os.O_RDWR | os.O_CREAT))
            # Finer than the clock of the file system: two changes in a row are two.
            now = time.time_ns()
            os.utime(self._stamp, ns=(now, now))
        except OSError as error:
            raise logins_unusable(error) from error
        self._look_at = 0.0

    @asynccontextmanager
    async def locked(self, reference: str) -> AsyncGenerator[None]:
        """Hold one login, against every other process and task. Raises a fault.

        The kernel lets go of it when the process dies.
        """
        handle = await asyncio.to_thread(self._open_lock, reference)
        try:
            deadline = time.monotonic() + _LONGEST_WAIT_S
            while not try_lock(handle):
                if time.monotonic() > deadline:
                    raise login_busy()
                await asyncio.sleep(_LOOK_S)
            yield
        finally:
            os.close(handle)

    def _open_lock(self, reference: str) -> int:
        try:
            make_private_folder(self._folder)
            return open_lock(os.path.join(self._folder, f"{reference.rpartition('/')[2]}.lock"))
        except OSError as error:
            raise logins_unusable(error) from error
