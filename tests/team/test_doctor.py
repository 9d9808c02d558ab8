"""What `doctor --db` finds in a database that a team uses, and on the way to it."""

from collections.abc import Generator

import psycopg
import pytest

from support.postgres import Cluster
from switchboard.daemon.team.check import team_findings
from switchboard.daemon.team.membership import PARTS, Team
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.presence import Presence
from switchboard.vault.keys.team_key import TeamKey
from team.ground import SECRET, TOKEN

OTHER = "canary-another-secret-of-a-team-22"
ENV = {"SWITCHBOARD_TEAM_KEY": SECRET, "SWITCHBOARD_TOKEN": TOKEN}


@pytest.fixture
def database(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database(PARTS) as address:
        yield address


def found(database: DatabaseAddress, **more: str) -> dict[tuple[str, str], str]:
    """What is worth more than a note, by its weight and subject."""
    findings = list(team_findings(database.url, {**ENV, **more}))
    assert all("canary" not in f"{each.message}{each.hint}" for each in findings)
    # Of the servers of tests, which lose nothing that matters.
    return {
        (each.severity, each.subject): each.message
        for each in findings
        if each.severity != "note" and "power cut" not in each.message
    }


def test_a_secret_of_another_team_is_found_out(database: DatabaseAddress) -> None:
    team = Team(database, [TeamKey(SECRET.encode())], name="one", reached_at="")
    vault = team.vault()
    vault.put("notes/token", "canary-of-a-vault")
    vault.close()
    team.close()
    assert found(database) == {}
    wrong = found(database, SWITCHBOARD_TEAM_KEY=OTHER)
    assert wrong == {("error", "team key"): "it does not open 1 of the secrets in the vault"}


async def test_a_log_of_another_team_is_found_out(
    database: DatabaseAddress, postgres: Cluster
) -> None:
    signed = (
        "INSERT INTO switchboard.audit_heads (chain, seq, hash, signature) VALUES ('a', 1, '', '')"
    )
    postgres.run(signed, database)
    assert found(database) == {("error", "team key"): "the audit log is of another one"}


def test_a_lease_that_differs_and_runs_that_nobody_takes_are_told(
    database: DatabaseAddress, postgres: Cluster
) -> None:
    postgres.run("INSERT INTO switchboard.agreed_lease (seconds) VALUES (6)", database)
    postgres.run(
        "INSERT INTO switchboard.runs (id, workspace, request_key, may_write, state, is_delivered,"
        " created_at, ended_at, owner, run) VALUES ('r', '/w', '', 0, 'queued', 0, 0, 0, '', '');"
        " INSERT INTO switchboard.run_queue (run_id, queue, priority, since)"
        " VALUES ('r', 'big', 1, now() - interval '1 minute')",
        database,
    )
    told = found(database, SWITCHBOARD_TEAM_LEASE="30")
    assert told == {
        ("warning", "lease"): "that of the team is 6 s, and here it is 30 s",
        ("warning", "runs"): "1 wait for longer than the lease, and no worker is there",
    }
    worker = Presence(database, "worker")
    worker.join()
    try:
        said = found(database)["warning", "runs"]
        assert said == "1 wait for longer than the lease, and no worker takes them"
    finally:
        worker.leave()


def test_a_database_that_can_only_be_read_or_has_other_texts_is_refused(
    database: DatabaseAddress, postgres: Cluster
) -> None:
    name = database.url.rpartition("/")[2]
    postgres.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert found(database)["error", "server"].startswith("it can only be read")
    postgres.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        told = found(postgres.address("latin"))
        assert told == {("error", "database"): "its texts are of LATIN1"}
    finally:
        postgres.run("DROP DATABASE latin WITH (FORCE)")


def test_a_transaction_that_stays_open_is_told(
    database: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.daemon.team.check_state._LONG_S", 0.0)
    with psycopg.connect(database.url) as open_one:
        open_one.execute("SELECT 1")
        assert "a transaction is open for" in found(database)["warning", "server"]
