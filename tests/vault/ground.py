"""A home with a vault in it, whose key lies beside it."""

from pathlib import Path

from switchboard.vault.file_vault import FileVault
from switchboard.vault.keys.sources import VaultKeys
from switchboard.vault.options import VaultOptions


def file_vault(folder: Path, options: VaultOptions | None = None) -> FileVault:
    """Make a vault that asks no keychain of this machine."""
    chosen = options or VaultOptions(key="own-key-file")
    return FileVault(str(folder), VaultKeys(str(folder), chosen))
