"""The state of a team comes back into the home of one user."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.commands import switchboard
from support.postgres import PATIENCE, Cluster
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from switchkit.locks import open_lock, try_lock
from team.home_state import TOKEN, VALUE, HomeGround, rows_in, running, wait_for

BACK = {"pins": (2, 2), "rules": (1, 1), "secrets": (1, 1)}


@pytest.fixture
async def ground(workspace: Workspace, database: DatabaseAddress) -> HomeGround:
    ground = HomeGround(workspace, database)
    await ground.furnish(records=3)
    return ground


@pytest.fixture
def elsewhere(ground: HomeGround) -> HomeGround:
    """Give a home of somebody who has nothing yet."""
    return HomeGround(Workspace(ground.workspace.root.parent / "elsewhere"), ground.address)


async def test_it_comes_back_whole_into_an_empty_home(
    ground: HomeGround, elsewhere: HomeGround, postgres: Cluster
) -> None:
    ground.counts("--to", "team")
    before = rows_in(postgres, ground.address)
    assert elsewhere.counts("--from", "team", "--dry-run") == BACK
    assert not (elsewhere.workspace.home / "vault").exists()
    assert elsewhere.counts("--from", "team") == BACK
    assert elsewhere.counts("--from", "team") == {kind: (n, 0) for kind, (n, _) in BACK.items()}
    assert rows_in(postgres, ground.address) == before
    # Of an empty home and of the first one the same goes into another database.
    with postgres.database() as second:
        there = HomeGround(elsewhere.workspace, second)
        assert there.counts("--to", "team", "--only", "pins", "--only", "secrets") == {
            "pins": (2, 2),
            "secrets": (1, 1),
        }
        assert there.team_value(TOKEN) == VALUE
    path = elsewhere.workspace.home / "vault" / "vault.json"
    assert VALUE.encode() not in path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0


async def test_what_a_home_has_otherwise_stays_unless_it_is_to_be_replaced(
    ground: HomeGround, elsewhere: HomeGround
) -> None:
    ground.counts("--to", "team")
    elsewhere.put(TOKEN, "canary-older")
    elsewhere.put("mcp/own/env/TOKEN", "canary-own")
    before = elsewhere.contents()
    refused = elsewhere.move("--from", "team", "--json")
    assert refused.report["reason"] == "state-differs"
    assert "--replace" in refused.report["hint"]
    # Not even what could have been moved.
    assert elsewhere.contents() == before
    done = elsewhere.move("--from", "team", "--replace")
    assert done.code == 0, done.err
    assert "2 of this home taken out" in done.out
    listed = switchboard(elsewhere.workspace, "vault", "list", "--json")
    assert [each["reference"] for each in listed.report["secrets"]] == [TOKEN]


async def test_killed_on_the_way_back_each_file_is_whole_and_the_next_time_ends_it(
    ground: HomeGround, elsewhere: HomeGround, postgres: Cluster
) -> None:
    ground.counts("--to", "team")
    before = rows_in(postgres, ground.address)
    folder = elsewhere.workspace.home / "vault"
    folder.mkdir(mode=0o700)
    handle = open_lock(folder / "vault.lock")
    try:
        assert try_lock(handle)
        with running(elsewhere, "--from", "team") as process:
            pins = elsewhere.workspace.home / "state" / "approvals.db"
            # It has written those, and waits for the vault.
            wait_for(lambda: _pins_in(pins) == 2)
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
    finally:
        os.close(handle)
    assert not (folder / "vault.json").exists()
    assert rows_in(postgres, ground.address) == before
    again = elsewhere.counts("--from", "team")
    assert again == {"pins": (2, 0), "rules": (1, 0), "secrets": (1, 1)}


def _pins_in(path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            return int(file.execute("SELECT count(*) FROM pins").fetchone()[0])
    except sqlite3.Error:
        return 0
