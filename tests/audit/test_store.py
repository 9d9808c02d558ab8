"""The audit stores that there are, through the contract: the real one, and the fake of tests."""

from pathlib import Path

import pytest

from audit.store_contract import AuditStoreContract
from fakes.audit import MemoryAudit
from switchboard.audit.store import SqliteAudit
from switchboard.core.stores import AuditStore


class TestSqliteAudit(AuditStoreContract):
    """The files of a home."""

    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"

    def make(self) -> AuditStore:
        return SqliteAudit(str(self.home))


class TestMemoryAudit(AuditStoreContract):
    """What other tests put in its place."""

    def make(self) -> AuditStore:
        return MemoryAudit()

    def make_again(self, store: AuditStore) -> AuditStore:
        return store
