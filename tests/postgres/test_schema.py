"""How the tables of a team are made and changed."""

import re
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from postgres.ground import MORE, ONE, TWO, part
from support.postgres import Cluster
from switchboard.core.faults import Fault
from switchboard.daemon.team.membership import PARTS
from switchboard.postgres.address import DatabaseAddress, read_address
from switchboard.postgres.database import Addition, Part, PostgresDatabase
from switchboard.postgres.schema import prepare


@pytest.fixture
def address(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database() as address:
        yield address


def opened(address: DatabaseAddress, *steps: str | Addition) -> PostgresDatabase:
    return PostgresDatabase(address, part(*steps), failure=RuntimeError)


def test_an_empty_database_gets_its_tables_and_keeps_them(address: DatabaseAddress) -> None:
    assert prepare(address, [part(ONE, TWO)]) == ["notes 0 -> 2"]
    database = opened(address, ONE, TWO)
    assert database.change("INSERT INTO notes (id, text) VALUES (?, ?)", 1, "kept") == 1
    assert prepare(address, [part(ONE, TWO)]) == []
    [row] = database.rows("SELECT * FROM notes")
    assert dict(row) == {"id": 1, "text": "kept", "more": "more"}
    database.close()


def test_of_many_who_come_first_one_makes_the_tables(address: DatabaseAddress) -> None:
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(prepare, [address] * 6, [[part(ONE, TWO)]] * 6))
    assert sorted(done, key=len) == [[]] * 5 + [["notes 0 -> 2"]]


def test_older_tables_are_changed_when_somebody_says_so_and_only_then(
    address: DatabaseAddress,
) -> None:
    prepare(address, [part(ONE)])
    for start in (lambda: prepare(address, [part(ONE, TWO)]), lambda: opened(address, ONE, TWO)):
        with pytest.raises((Fault, RuntimeError), match="of version 1, and this Switchboard needs"):
            start()
    assert prepare(address, [part(ONE, TWO)], upgrade=True) == ["notes 1 -> 2"]
    opened(address, ONE, TWO).close()


def test_newer_tables_are_refused_and_left_alone(address: DatabaseAddress) -> None:
    prepare(address, [part(ONE, TWO)])
    for start in (
        lambda: prepare(address, [part(ONE)]),
        lambda: prepare(address, [part(ONE)], upgrade=True),
        lambda: opened(address, ONE),
    ):
        with pytest.raises((Fault, RuntimeError), match="of version 2, and this Switchboard knows"):
            start()
    opened(address, ONE, TWO).close()


def test_a_change_that_fails_leaves_nothing_behind(address: DatabaseAddress) -> None:
    with pytest.raises(Fault) as caught:
        prepare(address, [part(ONE, "ALTER TABLE nowhere ADD COLUMN x TEXT;")])
    assert caught.value.reason == "database-unusable"
    with pytest.raises(RuntimeError, match="of version 0"):
        opened(address, ONE)
    assert prepare(address, [part(ONE)]) == ["notes 0 -> 1"]


def test_a_program_that_knew_the_tables_before_they_changed_goes_on_until_it_connects_anew(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    """A rolling upgrade changes the tables while programs of the version before still run."""
    prepare(address, [part(ONE)])
    older = opened(address, ONE)
    prepare(address, [part(ONE, TWO)], upgrade=True)
    assert older.change("INSERT INTO notes (id, text) VALUES (?, ?)", 1, "still") == 1
    postgres.cut(address)
    with pytest.raises(RuntimeError, match="of version 2"):
        older.rows("SELECT 1 AS n")
    older.close()


def test_what_is_added_is_there_for_who_knows_it_and_no_hindrance_for_who_does_not(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    """So both versions of a program can run side by side, and be started in any order."""
    prepare(address, [part(ONE)])
    older = opened(address, ONE)
    with pytest.raises(RuntimeError, match="lack what was added to version 1"):
        opened(address, ONE, MORE)
    assert prepare(address, [part(ONE, MORE)]) == ["notes 1 -> 1.1"]
    newer = opened(address, ONE, MORE)
    assert older.change("INSERT INTO notes (id, text) VALUES (?, ?)", 1, "still") == 1
    postgres.cut(address)
    assert older.change("INSERT INTO notes (id, text) VALUES (?, ?)", 2, "anew") == 1
    assert prepare(address, [part(ONE)]) == []
    assert [row["seen"] for row in newer.rows("SELECT seen FROM notes")] == [0, 0]
    older.close()
    newer.close()


def test_tables_of_before_there_were_additions_get_them(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    prepare(address, [part(ONE, TWO)])
    postgres.run("ALTER TABLE switchboard.versions DROP COLUMN steps", address)
    opened(address, ONE, TWO).close()
    assert prepare(address, [part(ONE, TWO, MORE)]) == ["notes 2 -> 2.1"]
    opened(address, ONE, TWO).close()


def test_an_addition_does_not_keep_others_from_a_table_that_somebody_uses(
    address: DatabaseAddress,
) -> None:
    """A lock that is waited for keeps everybody out who comes after it."""
    prepare(address, [part(ONE)])
    busy, other = opened(address, ONE), opened(address, ONE)
    with ThreadPoolExecutor(1) as pool:
        with busy.transaction():
            busy.rows("SELECT count(*) AS n FROM notes")
            adding = pool.submit(prepare, address, [part(ONE, MORE)])
            for number in range(3):
                # Longer than one of these is never waited.
                other.change("INSERT INTO notes (id, text) VALUES (?, ?)", number, "in between")
                busy.rows("SELECT pg_sleep(1)")
            assert not adding.done()
        assert adding.result(30) == ["notes 1 -> 1.1"]
    busy.close()
    other.close()


_ADDS = re.compile(
    r"(CREATE (UNIQUE )?INDEX|CREATE TABLE|CREATE SEQUENCE|CREATE (OR REPLACE )?(FUNCTION|TRIGGER)"
    r"|ALTER TABLE \w+ ADD COLUMN)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("each", PARTS, ids=lambda each: each.name)
def test_steps_that_say_that_they_only_add_do_only_add(each: Part) -> None:
    """Programs of the version before insert rows that know nothing of the new columns."""
    assert isinstance(each.steps[0], str)
    for step in each.steps:
        if not isinstance(step, Addition):
            continue
        for statement in filter(None, map(str.strip, step.sql.split(";"))):
            assert _ADDS.match(statement), statement
            if "ADD COLUMN" in statement.upper() and "NOT NULL" in statement.upper():
                assert "DEFAULT" in statement.upper(), statement


def test_a_clock_that_is_off_is_told_and_nothing_is_done(
    address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(address, [part(ONE)])
    monkeypatch.setattr("switchboard.postgres.database.time.time", lambda: 3600.0 * 24 * 365)
    with pytest.raises(RuntimeError, match="s off that of the database"):
        opened(address, ONE)


# Addresses


@pytest.mark.parametrize(
    "text", ["", "mysql://host/db", "postgresql://host", "postgresql://host:x/db", "host=x", "/"]
)
def test_what_is_no_address_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(Fault) as caught:
        read_address(text)
    assert caught.value.reason == "database-address"
    assert text == "" or len(text) < 3 or text not in f"{caught.value.message}{caught.value.hint}"


def test_a_password_is_in_no_text_of_an_address_and_in_no_fault() -> None:
    address = read_address("postgresql://sb:canary%2Fword@127.0.0.1:1/team")
    assert str(address) == "postgresql://sb@127.0.0.1:1/team"
    assert "canary" not in repr(address)
    with pytest.raises(Fault) as caught:
        prepare(address, [part(ONE)])
    assert "canary" not in f"{caught.value} {caught.value.message} {caught.value.private}"
    assert address.without_secret("as canary/word or canary%2Fword") == "as … or …"


def test_a_database_that_refuses_a_password_says_so_without_it(postgres: Cluster) -> None:
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(f"postgresql://nobody@127.0.0.1:{postgres.port}/none")
    address = read_address(f"postgresql://nobody:canary@127.0.0.1:{postgres.port}/none")
    with pytest.raises(Fault, match="cannot be used") as caught:
        prepare(address, [part(ONE)])
    assert "canary" not in str(caught.value)
