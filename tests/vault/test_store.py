"""The vaults that need no server, through the contract: the file, and the fake of tests."""

from pathlib import Path

import pytest

from fakes.vault import MemoryVault
from switchboard.core.stores import VaultStore
from vault.ground import file_vault
from vault.store_contract import VaultStoreContract


class TestFileVault(VaultStoreContract):
    """One encrypted file."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "vault"

    def make(self) -> VaultStore:
        return file_vault(self.folder)


class TestMemoryVault(VaultStoreContract):
    """What other tests put in its place."""

    @pytest.fixture(autouse=True)
    def _vault(self) -> None:
        self.vault = MemoryVault()

    def make(self) -> VaultStore:
        return self.vault
