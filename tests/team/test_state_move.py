"""The state of one user's home goes into the database of a team, whole or not at all, and back."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from audit.ground import Ground
from cli.commands import switchboard
from support.postgres import PATIENCE, Cluster
from support.workspace import Workspace
from switchboard.daemon.team.membership import PARTS
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.schema import prepare
from switchkit.locks import open_lock, try_lock
from team.ground import SECRET
from team.home_state import KEY, RECORDS, TOKEN, VALUE, HomeGround, of_team

TABLES = ("pins", "rules", "vault_entries", "audit_records", "audit_heads")
# The first record of a log says that it was opened.
LOG = RECORDS + 1
ALL = {"pins": (2, 2), "rules": (1, 1), "audit": (LOG, LOG), "secrets": (1, 1)}


@pytest.fixture
async def ground(workspace: Workspace, database: DatabaseAddress) -> HomeGround:
    ground = HomeGround(workspace, database)
    await ground.furnish()
    return ground


def rows_in(postgres: Cluster, address: DatabaseAddress) -> dict[str, object]:
    return {
        table: postgres.run(f"SELECT count(*) FROM switchboard.{table}", address)[0][0]
        for table in TABLES
    }


def chain_of(postgres: Cluster, address: DatabaseAddress) -> str:
    [(chain,)] = postgres.run("SELECT DISTINCT chain FROM switchboard.audit_records", address)
    return str(chain)


async def test_everything_is_moved_once_verified_and_left_as_it_was(
    ground: HomeGround, postgres: Cluster
) -> None:
    before = ground.contents()
    done = ground.move("--to", "team", "--json")
    assert done.code == 0, done.err
    kinds = {each["kind"]: each for each in done.report["kinds"]}
    assert {kind: (each["count"], each["added"]) for kind, each in kinds.items()} == ALL
    assert [bool(kinds[kind].get("digest")) for kind in ALL] == [True, True, True, False]
    assert {each["what"] for each in done.report["left"]} >= {"runs of agents", "questions"}
    assert ground.contents() == before
    # What the team has is what the home had.
    assert ground.team_value(TOKEN) == VALUE
    found = postgres.run(
        "SELECT tool, hash, held_hash, definition FROM switchboard.pins ORDER BY tool",
        ground.address,
    )
    assert found == [
        (KEY.tool, "h1", "h2", "{definition}"),
        ("list", "h3", None, "{ünïcode 日本}"),
    ]
    verified = switchboard(
        ground.workspace, "audit", "verify", "--json", env=of_team(ground.address)
    )
    assert verified.code == 0, verified.out
    shown = switchboard(
        ground.workspace, "audit", "show", f"call-{RECORDS - 1}", env=of_team(ground.address)
    )
    assert shown.code == 0, shown.err
    assert "files/write" in shown.out
    # No value, and nothing that opens one, is in the database.
    dump = postgres.run("SELECT vault_entries::text FROM switchboard.vault_entries", ground.address)
    assert VALUE.encode().hex() not in str(dump)
    # Once more there is nothing to do.
    after = rows_in(postgres, ground.address)
    again = ground.counts("--to", "team")
    assert again == {kind: (count, 0) for kind, (count, _) in ALL.items()}
    assert rows_in(postgres, ground.address) == after


async def test_what_came_since_is_added_the_next_time(
    ground: HomeGround, postgres: Cluster
) -> None:
    ground.counts("--to", "team")
    ground.put("mcp/more/env/TOKEN", "canary-2")
    await Ground(ground.workspace.home).write(3, start=9000)
    added = ground.counts("--to", "team")
    assert added["secrets"] == (2, 1)
    assert added["audit"] == (LOG + 3, 3)
    # Each time the chain says where the log of the home ended.
    moved = "SELECT count(*) FROM switchboard.audit_records WHERE body LIKE '%audit.moved%'::bytea"
    assert postgres.run(moved, ground.address) == [(2,)]
    verified = switchboard(ground.workspace, "audit", "verify", env=of_team(ground.address))
    assert verified.code == 0, verified.out


@pytest.mark.parametrize("is_empty", [True, False])
async def test_a_dry_run_changes_nothing(
    ground: HomeGround, postgres: Cluster, is_empty: bool
) -> None:
    if not is_empty:
        prepare(ground.address, PARTS)
    before = ground.contents()
    assert ground.counts("--to", "team", "--dry-run") == ALL
    assert ground.contents() == before
    if is_empty:
        found = postgres.run(
            "SELECT 1 FROM pg_namespace WHERE nspname = 'switchboard'", ground.address
        )
        assert found == []
    else:
        assert set(rows_in(postgres, ground.address).values()) == {0}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("pins", "UPDATE switchboard.pins SET hash = 'other' WHERE tool = 'list'"),
        ("rules", "UPDATE switchboard.rules SET server = 'another'"),
        ("secrets", "UPDATE switchboard.vault_entries SET reference = 'mcp/x/env/Y'"),
    ],
)
async def test_what_a_team_has_otherwise_stops_all_of_it(
    ground: HomeGround, postgres: Cluster, kind: str, change: str
) -> None:
    ground.counts("--to", "team", "--only", "pins", "--only", "rules", "--only", "secrets")
    postgres.run(change, ground.address)
    before = rows_in(postgres, ground.address)
    refused = ground.move("--to", "team", "--json")
    assert refused.code == 1
    if kind == "secrets":
        # A value under another reference cannot be opened at all.
        assert refused.report["reason"] == "vault-damaged"
    else:
        assert refused.report["reason"] == "state-differs"
        assert refused.report["details"]["kind"] == kind
        assert "--only" in refused.report["hint"]
    assert rows_in(postgres, ground.address) == before
    assert before["audit_records"] == 0


async def test_a_secret_of_the_team_stops_the_move_and_is_named(ground: HomeGround) -> None:
    other = Workspace(ground.workspace.root.parent / "other")
    theirs = HomeGround(other, ground.address)
    theirs.put("mcp/other/env/TOKEN", "canary-3")
    theirs.counts("--to", "team")
    refused = ground.move("--to", "team")
    assert refused.code == 1
    assert "mcp/other/env/TOKEN" in refused.err
    assert ground.team_value(TOKEN) is None


@contextmanager
def running(ground: HomeGround, *words: str) -> Generator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        ground.workspace.command("state", "move", *words),
        cwd=ground.workspace.root,
        env={**ground.workspace.env, **of_team(ground.address)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def wait_for(fact: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("table", ["pins", "audit_heads", "vault_entries"])
async def test_killed_in_the_middle_the_database_has_nothing_and_the_home_everything(
    ground: HomeGround, postgres: Cluster, table: str
) -> None:
    prepare(ground.address, PARTS)
    before = ground.contents()
    waits = (
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        " AND datname = current_database()"
    )
    with psycopg.connect(ground.address.url) as holder:
        holder.execute(f"LOCK TABLE switchboard.{table} IN ACCESS EXCLUSIVE MODE".encode())
        with running(ground, "--to", "team") as process:
            wait_for(lambda: postgres.run(waits, ground.address))
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
    wait_for(
        lambda: (
            not postgres.run(
                "SELECT 1 FROM pg_stat_activity WHERE application_name = 'switchboard'"
                " AND datname = current_database()",
                ground.address,
            )
        )
    )
    assert set(rows_in(postgres, ground.address).values()) == {0}
    assert ground.contents() == before
    assert ground.counts("--to", "team") == ALL


async def test_a_daemon_of_the_home_stops_it(ground: HomeGround, postgres: Cluster) -> None:
    started = switchboard(ground.workspace, "daemon", "start")
    assert started.code == 0, started.err
    try:
        for words in (("--to", "team"), ("--from", "team")):
            refused = ground.move(*words, "--json")
            assert refused.code == 1
            assert refused.report["reason"] == "daemon-running"
            assert "switchboard daemon stop" in refused.report["hint"]
    finally:
        ground.workspace.stop_daemon()
    found = postgres.run("SELECT 1 FROM pg_namespace WHERE nspname = 'switchboard'", ground.address)
    assert found == []
    assert ground.counts("--to", "team") == ALL


async def test_a_log_that_was_changed_is_not_moved(ground: HomeGround, postgres: Cluster) -> None:
    Ground(ground.workspace.home).paths.key.write_bytes(os.urandom(32))
    refused = ground.move("--to", "team", "--json")
    assert refused.report["reason"] == "audit-not-whole"
    found = postgres.run("SELECT 1 FROM pg_namespace WHERE nspname = 'switchboard'", ground.address)
    assert found == []
    rest = ground.counts("--to", "team", "--only", "pins", "--only", "secrets")
    assert rest == {"pins": (2, 2), "secrets": (1, 1)}


# Back


@pytest.fixture
def elsewhere(ground: HomeGround) -> HomeGround:
    """Give a home of somebody who has nothing yet."""
    return HomeGround(Workspace(ground.workspace.root.parent / "elsewhere"), ground.address)


BACK = {"pins": (2, 2), "rules": (1, 1), "secrets": (1, 1)}


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


@pytest.mark.parametrize(
    ("words", "env", "told"),
    [
        ((), {}, (2, "say where to")),
        (("--to", "team", "--from", "team"), {}, (2, "say where to")),
        (("--to", "team", "--replace"), {}, (2, "does not give way")),
        (("--from", "team", "--only", "audit"), {}, (2, "stays in its database")),
        (("--to", "team", "--only", "nonsense"), {}, (2, "no kind of state")),
        (("--to", "postgresql://sb:canary@db/x"), {}, (2, "no password belongs there")),
        (("--to", "team"), {"SWITCHBOARD_DB": "-"}, (2, "is not set")),
        (("--to", "mysql://db/x"), {}, (1, "no address of a PostgreSQL")),
        (("--to", "team"), {"SWITCHBOARD_TEAM_KEY": "-"}, (1, "here is none")),
        (
            ("--to", "team"),
            {"SWITCHBOARD_DB": "postgresql://a:canary@127.0.0.1:1/x"},
            (1, "cannot"),
        ),
        (("--from", "team"), {}, (1, "no team has kept anything")),
    ],
)
def test_what_cannot_be_done_is_said(
    workspace: Workspace,
    database: DatabaseAddress,
    words: tuple[str, ...],
    env: dict[str, str],
    told: tuple[int, str],
) -> None:
    done = HomeGround(workspace, database).move(*words, env=env)
    code, says = told
    assert (done.code, says in done.err) == (code, True), done.err
    assert SECRET not in done.out + done.err
