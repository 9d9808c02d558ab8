"""The vaults that one process has open: one for each home, however many boards look into it."""

from collections.abc import Mapping

from switchboard.core.stores import VaultStore
from switchboard.vault.options import VaultOptions

# Who they are decides what a server of secrets lets them see.
_TOKENS = ("VAULT_TOKEN", "HOME")


class Vaults:
    """Opens each once: its key may be in a keychain, which asks a person."""

    def __init__(self) -> None:
        self._open: dict[tuple[object, ...], VaultStore] = {}

    def of(self, home: str, options: VaultOptions, environ: Mapping[str, str]) -> VaultStore:
        """The vault of a home. Raises a fault."""
        who = tuple(environ.get(name) for name in _TOKENS)
        key = (home, options, who if options.engine != "file" else None)
        store = self._open.get(key)
        if store is None:
            # Ciphers take a while to load, and few have a vault.
            from switchboard.vault.opening import open_vault  # noqa: PLC0415

            store = self._open.setdefault(key, open_vault(home, options, environ))
        return store

    def close(self) -> None:
        """Let go of all of them."""
        while self._open:
            self._open.popitem()[1].close()
