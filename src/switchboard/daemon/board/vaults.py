"""The vaults that one process has open: one for each home, however many boards look into it."""

import os
from collections.abc import Callable, Mapping
from typing import Literal

from switchboard.core.faults import Fault
from switchboard.core.stores import VaultStore
from switchboard.vault.options import VaultOptions

# Who they are decides what a server of secrets lets them see.
_TOKENS = ("VAULT_TOKEN", "HOME")
_OPTIONS = VaultOptions()


class Vaults:
    """Opens each once: its key may be in a keychain, which asks a person.

    A vault with a passphrase is opened with `ask`, where a person is at hand, or is unlocked by
    somebody who knows it, where that is offered.
    """

    def __init__(
        self,
        *,
        ask: Callable[[bool], str] | None = None,
        is_unlockable: bool = False,
        of_team: VaultStore | None = None,
    ) -> None:
        """`of_team` takes the place of that of any home."""
        self._of_team = of_team
        self._open: dict[tuple[object, ...], VaultStore] = {}
        self._ask = ask
        # Keys that we were told, by their ids. In memory alone.
        self._keys: dict[str, bytes] | None = {} if is_unlockable else None
        # Another number whenever a value may be had that could not, or the other way round.
        self.turns = 0

    def of(self, home: str, options: VaultOptions, environ: Mapping[str, str]) -> VaultStore:
        """The vault of a home. Raises a fault."""
        if self._of_team is not None:
            return self._of_team
        who = tuple(environ.get(name) for name in _TOKENS)
        key = (home, options, who if options.engine != "file" else None)
        store = self._open.get(key)
        if store is None:
            # Ciphers take a while to load, and few have a vault.
            from switchboard.vault.opening import open_vault  # noqa: PLC0415

            store = self._open.setdefault(
                key, open_vault(home, options, environ, ask=self._ask, told=self._keys)
            )
        return store

    def unlock(self, key_id: str, key: bytes) -> None:
        """Open a vault with this key from now on. A home has one vault, so one key is enough."""
        assert self._keys is not None, "nobody is told a key where none is wanted"
        self._keys.clear()
        self._keys[key_id] = key
        self.turns += 1

    def lock(self) -> int:
        """Forget the key, and what it opened; gives how many there were."""
        count = len(self._keys or ())
        if self._keys is not None:
            self._keys.clear()
        for store in self._open.values():
            store.close()
        self.turns += 1
        return count

    def state(self, home: str) -> Literal["", "locked", "unlocked"]:
        """Whether the vault of a home waits for its passphrase; empty where it never does."""
        if not os.path.lexists(os.path.join(home, "vault", "vault.json")):
            return ""
        from switchboard.vault.opening import open_file_vault  # noqa: PLC0415 - as above

        try:
            note = open_file_vault(home, _OPTIONS).note
        except Fault:
            # Whoever needs it is told why.
            return ""
        if note is None or note.kind != "passphrase":
            return ""
        return "unlocked" if note.id in (self._keys or ()) else "locked"

    def close(self) -> None:
        """Let go of all of them."""
        while self._open:
            self._open.popitem()[1].close()
