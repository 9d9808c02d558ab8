"""How a vault stands, in words: where it is, what opens it, what of it cannot be used."""

import os

from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.core.stores import VaultStore
from switchboard.settings.sections import Settings
from switchboard.vault.file_vault import FileVault
from switchboard.vault.opening import vault_folder
from switchkit.cli.columns import counted

_KEYS = {
    "keychain": "in the keychain of the system",
    "key-file": "in the key file that the configuration names",
    "own-key-file": "in a file beside it: copies of the vault alone are safe, but whoever can read "
    "your files can read both",
    "passphrase": "made from a passphrase, which the daemon has to be told after each start with "
    "`switchboard vault unlock`",
}


class VaultState(Struct, frozen=True, kw_only=True):
    """What was found."""

    engine: str
    place: str
    # Where its key is; empty for a server, and where there is no vault yet.
    key: str = ""
    key_kind: str = ""
    secrets: int = 0
    problems: tuple[tuple[str, str], ...] = ()

    def in_one_line(self) -> str:
        if not self.key and self.engine == "file" and not self.problems:
            return f"{self.place} (none yet)"
        told = f", its key {self.key}" if self.key else ""
        return f"{self.place}, {counted(self.secrets, 'secret')}{told}"


def state_of(settings: Settings, store: VaultStore, *, deep: bool) -> VaultState:
    """What can be said of a vault; `deep` opens it too."""
    options = settings.vault
    problems: list[tuple[str, str]] = []
    key = kind = ""
    secrets = 0
    try:
        secrets = len(store.entries())
        if isinstance(store, FileVault):
            note = store.note
            kind = note.kind if note is not None else ""
            key = _KEYS.get(kind, "")
            if deep and note is not None:
                store.check()
    except Fault as fault:
        problems.append((fault.message, _fix(fault, settings)))
    folder = vault_folder(settings.home)
    return VaultState(
        engine=options.engine,
        place=os.path.join(folder, "vault.json") if options.engine == "file" else options.address,
        key=key,
        key_kind=kind,
        secrets=secrets,
        problems=tuple(problems),
    )


def _fix(fault: Fault, settings: Settings) -> str:
    if fault.reason == "vault-not-private" and fault.private:
        folder = vault_folder(settings.home)
        return f"{fault.private}; chmod 700 {folder}; chmod 600 {folder}/*"
    return fault.private or ("" if "vault doctor" in fault.hint else fault.hint)
