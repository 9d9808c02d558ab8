"""Where the vault of a home lies."""

import os

from switchboard.vault.opening import vault_folder
from switchboard.vault.vault_file import FILE


def vault_of(home: str) -> str:
    """The file of a vault; empty where there is none yet."""
    file = os.path.join(vault_folder(home), FILE)
    return file if os.path.lexists(file) else ""
