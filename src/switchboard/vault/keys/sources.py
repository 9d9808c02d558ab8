"""Where the key of the vault is: it is found where its vault says, and made where the home says."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from switchboard.core.faults import Fault
from switchboard.vault.envelope import KeyKind, KeyNote
from switchboard.vault.keys.key_file import GivenKeyFile, OwnKeyFile
from switchboard.vault.keys.keychain import Keychain
from switchboard.vault.keys.passphrase import AskPassphrase, Passphrase
from switchboard.vault.options import VaultOptions

# Long enough for a keychain that is busy; nobody waits for a call while a person types.
_PATIENCE_S = 5.0
_WITH_A_PERSON_S = 120.0


class _Source(Protocol):
    def find(self, note: KeyNote) -> bytes: ...
    def make(self) -> tuple[KeyNote, bytes]: ...
    def forget(self, note: KeyNote) -> None: ...


class VaultKeys:
    """The keys of one home. `ask` is for whoever has a person at hand."""

    def __init__(
        self,
        folder: str,
        options: VaultOptions,
        ask: AskPassphrase | None = None,
        keychain: Keychain | None = None,
        told: Mapping[str, bytes] | None = None,
    ) -> None:
        self._options = options
        self._keychain = keychain or Keychain(_WITH_A_PERSON_S if ask else _PATIENCE_S)
        self._own = OwnKeyFile(folder)
        self._sources: dict[KeyKind, _Source] = {
            "keychain": self._keychain,
            "key-file": GivenKeyFile(options.key_file),
            "own-key-file": self._own,
            "passphrase": Passphrase(ask, told),
        }

    def find(self, note: KeyNote, /) -> bytes:
        return self._sources[note.kind].find(note)

    def make(self) -> tuple[KeyNote, bytes]:
        """A new key. Without a choice: the named file, else the keychain, else a file of ours."""
        choice = self._options.key
        return self._made_somewhere() if choice == "auto" else self._sources[choice].make()

    def forget(self, note: KeyNote, kept: KeyNote, /) -> None:
        # An old key that stays opens copies of the vault, and not the vault.
        with suppress(Fault):
            self._sources[note.kind].forget(note)
        self._own.forget_others(kept)

    def _made_somewhere(self) -> tuple[KeyNote, bytes]:
        if self._options.key_file:
            return self._sources["key-file"].make()
        if self._keychain.is_there():
            # A keychain that is locked, with nobody there to unlock it, is as good as none.
            with suppress(Fault):
                return self._keychain.make()
        return self._sources["own-key-file"].make()
