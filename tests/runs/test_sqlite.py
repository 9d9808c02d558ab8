"""Runs in SQLite."""

import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from runs.ground import FakeOwners, a_run
from runs.store_contract import RunStoreContract
from switchboard.core.faults import Fault
from switchboard.core.stores import Owners
from switchboard.runs.ports import RunStore
from switchboard.runs.store.sqlite import SqliteRuns


class TestSqliteRuns(RunStoreContract):
    def make(self, home: Path, owners: Owners, clock: Callable[[], float]) -> RunStore:
        return SqliteRuns(str(home), owners=owners, clock=clock)


async def test_the_file_is_ours_alone(tmp_path: Path) -> None:
    store = SqliteRuns(str(tmp_path), owners=FakeOwners())
    await store.add(a_run())
    for path in (tmp_path / "state").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await store.aclose()


async def test_a_file_of_a_newer_version_is_let_be(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with sqlite3.connect(tmp_path / "state" / "runs.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    store = SqliteRuns(str(tmp_path), owners=FakeOwners())
    with pytest.raises(Fault) as refusal:
        await store.add(a_run())
    assert refusal.value.reason == "runs-unavailable"
    await store.aclose()


async def test_a_store_that_is_closed_is_not_opened_again(tmp_path: Path) -> None:
    store = SqliteRuns(str(tmp_path), owners=FakeOwners())
    await store.aclose()
    with pytest.raises(Fault):
        await store.listed()
    assert not (tmp_path / "state").exists()
