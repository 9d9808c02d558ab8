"""The state of one user's home goes into the database of a team, whole or not at all, and back."""

import asyncio
import os
import signal

import psycopg
import pytest

from audit.ground import Ground
from cli.commands import switchboard
from docs.pages import blocks_of
from gate.ground import Gate, call
from gate.over_http import connected, write
from support.postgres import PATIENCE, Cluster
from support.workspace import Workspace
from switchboard.daemon.team.membership import PARTS
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.schema import prepare
from team.ground import SECRET, gateway
from team.ground import TOKEN as TEAM_TOKEN
from team.home_state import (
    KEY,
    RECORDS,
    TOKEN,
    VALUE,
    HomeGround,
    of_team,
    rows_in,
    running,
    wait_for,
)

# The first record of a log says that it was opened.
LOG = RECORDS + 1
ALL = {"pins": (2, 2), "rules": (1, 1), "audit": (LOG, LOG), "secrets": (1, 1)}


@pytest.fixture
async def ground(workspace: Workspace, database: DatabaseAddress) -> HomeGround:
    ground = HomeGround(workspace, database)
    await ground.furnish()
    return ground


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


async def test_the_page_is_typed_as_it_stands(ground: HomeGround, postgres: Cluster) -> None:
    [shown] = [each.text for each in blocks_of("docs/team.md") if "state move" in each.text]
    lines = shown.strip().splitlines()
    assert len(lines) == 4
    for line in lines:
        words = line.removeprefix("SWITCHBOARD_DB=… ").split()
        assert words[0] == "switchboard"
        done = switchboard(ground.workspace, *words[1:], env=of_team(ground.address))
        assert done.code == 0, (line, done.err)
    assert rows_in(postgres, ground.address)["pins"] == 2


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


@pytest.mark.parametrize(
    ("table", "change", "reason"),
    [
        ("pins", "NEW.definition := 'x'", "move-not-verified"),
        ("rules", "RETURN NULL", "move-not-verified"),
        ("audit_records", "NEW.body := NEW.body || ' '::bytea", "move-not-verified"),
        ("audit_records", "NEW.seal := NULL", "move-not-verified"),
        ("vault_entries", "NEW.value := NEW.nonce || NEW.value", "vault-damaged"),
        ("vault_entries", "RETURN NULL", "move-not-verified"),
    ],
)
async def test_a_database_that_does_not_keep_what_it_is_given_gets_nothing(
    ground: HomeGround, postgres: Cluster, table: str, change: str, reason: str
) -> None:
    prepare(ground.address, PARTS)
    postgres.run(
        "SET search_path = switchboard; CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql"
        f" AS $$ BEGIN {change}; RETURN NEW; END $$;"
        f" CREATE TRIGGER spoiling BEFORE INSERT ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION spoil()",
        ground.address,
    )
    refused = ground.move("--to", "team", "--json")
    assert (refused.code, refused.report["reason"]) == (1, reason)
    assert set(rows_in(postgres, ground.address).values()) == {0}


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


async def test_a_yes_for_good_of_a_home_is_one_of_the_team(
    gate: Gate, database: DatabaseAddress, postgres: Cluster
) -> None:
    async with gate.window(capabilities={}) as client:
        waiting = asyncio.ensure_future(client.request("tools/call", call("write", text="home")))
        await gate.waiting(meanwhile=waiting)
        await gate.decide("approve", "--always")
        await waiting
    moved = HomeGround(gate.workspace, database).counts("--to", "team")
    assert moved["rules"] == (1, 1)
    pins = "SELECT server, fingerprint, tool, hash FROM switchboard.pins ORDER BY 1, 2, 3"
    before = postgres.run(pins, database)
    async with (
        gateway(gate, database) as served,
        connected(served.url, "2026-07-28", None, token=TEAM_TOKEN) as client,
    ):
        # Nobody is there to answer, and nobody is asked.
        assert not (await write(client, "team")).is_error
    assert gate.written == ["home", "team"]
    assert postgres.run(pins, database) == before
    assert before
    verified = await gate.type("audit", "verify", env=of_team(database))
    assert verified.code == 0, verified.out
