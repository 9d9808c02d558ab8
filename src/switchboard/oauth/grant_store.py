"""Logins in the vault, found by what an entry says, changed by one process at a time."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import msgspec

from switchboard.core.stores import VaultStore
from switchboard.oauth.grant import Grant
from switchboard.oauth.login_place import LoginFiles, LoginPlace


class GrantStore:
    """Every login of a home, or of a team. Its methods block, but for `locked` and `stamp`."""

    def __init__(
        self, home: str, vault: Callable[[], VaultStore], *, place: LoginPlace | None = None
    ) -> None:
        self._place = place or LoginFiles(home)
        self._vault = vault

    def stamp(self) -> int:
        """Another number soon after every change, by whichever process; at once after one of ours.

        Each request asks for it, so it never waits.
        """
        return self._place.stamp()

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
        self._place.changed()

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
        self._place.changed()
        return True

    def note_wanted(self, entry: str) -> None:
        """Remember that the server of an entry wants a login, also while there is none."""
        self._place.note_wanted(entry)

    def is_wanted(self, entry: str) -> bool:
        """Whether the server of an entry has wanted a login."""
        return self._place.is_wanted(entry)

    def locked(self, reference: str) -> AbstractAsyncContextManager[None]:
        """Hold one login, against every other process and task. Raises a fault.

        Whoever dies lets go of it.
        """
        return self._place.locked(reference)
