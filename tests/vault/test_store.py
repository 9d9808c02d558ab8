"""The vaults that need no server, through the contract: the file, and the fake of tests."""

import json
from pathlib import Path

import pytest

from fakes.vault import MemoryVault
from switchboard.core.stores import VaultStore
from vault.ground import file_vault
from vault.store_contract import HEADER, LOGIN, TOKEN, VaultStoreContract


class TestFileVault(VaultStoreContract):
    """One encrypted file."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "vault"

    def make(self) -> VaultStore:
        return file_vault(self.folder)

    def test_no_use_is_remembered_of_what_is_gone(self) -> None:
        store = self.make()
        for reference in (TOKEN, HEADER, LOGIN):
            store.put(reference, "value")
            assert store.get(reference) == "value"
        notes = self.folder / "used.json"
        assert set(json.loads(notes.read_bytes())) == {TOKEN, HEADER, LOGIN}
        store.delete(TOKEN)
        assert set(json.loads(notes.read_bytes())) == {HEADER, LOGIN}
        # What earlier versions left behind goes with the next use.
        notes.write_text(json.dumps({"mcp/gone/env/K": 1.0, HEADER: 2.0}))
        assert self.make().get(LOGIN) == "value"
        assert set(json.loads(notes.read_bytes())) == {HEADER, LOGIN}


class TestMemoryVault(VaultStoreContract):
    """What other tests put in its place."""

    @pytest.fixture(autouse=True)
    def _vault(self) -> None:
        self.vault = MemoryVault()

    def make(self) -> VaultStore:
        return self.vault
