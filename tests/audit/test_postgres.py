"""The audit log of a team: the contract, processes and databases that die, and tampering."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from audit.ground import a_record
from audit.store_contract import AuditStoreContract
from support.postgres import Cluster
from switchboard.audit.errors import LogAway
from switchboard.audit.filter import record_in
from switchboard.audit.key import AuditKey
from switchboard.audit.postgres.store import PostgresAudit
from switchboard.audit.postgres.tables import AUDIT
from switchboard.core.faults import Fault
from switchboard.core.stores import AuditStore
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import PostgresDatabase

KEY = AuditKey(b"k" * 32)
PATIENCE = 60
SCRIBBLER = Path(__file__).with_name("team_scribbler.py")


@pytest.fixture
def address(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database([AUDIT]) as address:
        yield address


class TestPostgresAudit(AuditStoreContract):
    """One database, one replica."""

    @pytest.fixture(autouse=True)
    async def _database(self, address: DatabaseAddress) -> AsyncGenerator[None]:
        self.address = address
        self.made: list[PostgresAudit] = []
        yield
        for store in self.made:
            await store.aclose()

    def make(self) -> AuditStore:
        store = PostgresAudit(self.address, "one", KEY)
        self.made.append(store)
        return store


@contextmanager
def scribbling(address: DatabaseAddress, chain: str) -> Generator["subprocess.Popen[str]"]:
    writer = subprocess.Popen(
        [sys.executable, str(SCRIBBLER), address.url, chain, "4"], stdout=subprocess.PIPE, text=True
    )
    try:
        yield writer
    finally:
        writer.kill()
        writer.wait(PATIENCE)
        assert writer.stdout is not None
        writer.stdout.close()


def heard(writer: "subprocess.Popen[str]", count: int) -> list[str]:
    assert writer.stdout is not None
    return [writer.stdout.readline().strip() for _ in range(count)]


def last_words(writer: "subprocess.Popen[str]") -> list[str]:
    assert writer.stdout is not None
    return writer.stdout.read().split()


@pytest.fixture
async def reader(address: DatabaseAddress) -> AsyncGenerator[PostgresAudit]:
    store = PostgresAudit(address, "reader", KEY)
    yield store
    await store.aclose()


# What dies


async def test_replicas_that_are_killed_lose_nothing_that_was_acknowledged(
    address: DatabaseAddress, reader: PostgresAudit
) -> None:
    told: list[str] = []
    for _ in range(3):
        with scribbling(address, "a") as one, scribbling(address, "b") as two:
            told += heard(one, 60) + heard(two, 60)
            one.kill()
            two.kill()
            told += last_words(one) + last_words(two)
    assert len(told) > 360
    rows = [row.call async for row in reader.read()]
    assert set(told) - set(rows) == set()
    found = await reader.verify()
    assert (found.findings, found.segments) == ((), 2)


async def test_a_database_that_crashes_loses_nothing_that_was_acknowledged_and_doubles_nothing(
    postgres: Cluster,
) -> None:
    with postgres.database([AUDIT]) as address, scribbling(address, "a") as writer:
        told = heard(writer, 40)
        postgres.crash()
        postgres.start()
        told += heard(writer, 40)
        writer.kill()
        told += last_words(writer)
        store = PostgresAudit(address, "reader", KEY)
        calls = [row.call async for row in store.read() if row.call]
        assert set(told) - set(calls) == set()
        assert (await store.verify()).findings == ()
        await store.aclose()


async def test_a_group_whose_acknowledgement_was_lost_is_not_written_twice(
    address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresAudit(address, "one", KEY)
    await store.append(a_record("first"))
    real, lost = PostgresDatabase.change, ["the answer"]

    def change(self: PostgresDatabase, query: str, /, *values: object) -> int:
        done = real(self, query, *values)
        if query == "COMMIT" and lost:
            raise LogAway(lost.pop())
        return done

    monkeypatch.setattr(PostgresDatabase, "change", change)
    store.post(a_record("posted"))
    with pytest.raises(Fault, match="cannot be written"):
        await store.flush()
    await store.append(a_record("last"))
    assert [row.call async for row in store.read() if row.call] == ["first", "posted", "last"]
    assert (await store.verify()).is_whole
    await store.aclose()


async def test_while_the_database_is_away_nothing_is_started_and_what_was_posted_comes_later(
    postgres: Cluster,
) -> None:
    with postgres.database([AUDIT]) as address:
        told: list[str] = []
        store = PostgresAudit(address, "one", KEY, tell=lambda event: told.append(event.message))
        await store.append(a_record("before"))
        postgres.crash()
        try:
            with pytest.raises(Fault) as caught:
                await store.append(a_record("refused"))
            assert caught.value.reason == "audit-unwritable"
            assert "its database cannot be used" in caught.value.message
            store.post(a_record("posted"))
        finally:
            postgres.start()
        await store.append(a_record("after"))
        calls = [row.call async for row in store.read() if row.call]
        assert calls == ["before", "posted", "after"]
        assert [text.partition(":")[0] for text in told] == [
            "the audit log cannot be written",
            "the audit log can be written again",
        ]
        await store.aclose()


# Several replicas


async def test_numbers_go_over_all_chains_and_each_chain_is_anchored_in_the_others(
    address: DatabaseAddress, reader: PostgresAudit
) -> None:
    one = PostgresAudit(address, "one", KEY, anchor_s=0.05)
    two = PostgresAudit(address, "two", KEY, anchor_s=0.05)
    for number in range(3):
        await one.append(a_record(f"one-{number}"))
        await two.append(a_record(f"two-{number}"))

    async def seen() -> dict[str, int]:
        """How far each chain is vouched for by the other."""
        found: dict[str, int] = {}
        async for row in reader.read():
            record = record_in(row)
            if record is not None and record.anchors:
                found |= {each.chain: each.seq for each in record.anchors}
        return found

    # Also when nobody writes anything any more, and then it becomes quiet.
    async with asyncio.timeout(PATIENCE):
        while len(found := await seen()) < 2 or min(found.values()) < 4:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.05)
    calls = [row.call async for row in reader.read() if row.call]
    assert calls == [f"{name}-{number}" for number in range(3) for name in ("one", "two")]
    assert (await reader.verify()).findings == ()
    await one.aclose()
    await two.aclose()


async def test_who_reads_on_from_a_number_passes_nothing_that_is_not_committed_yet(
    address: DatabaseAddress, reader: PostgresAudit
) -> None:
    one = PostgresAudit(address, "one", KEY)
    await one.append(a_record("first"))
    [*_, first] = [row async for row in reader.read()]
    with psycopg.connect(address.url) as slow:
        # It has its number already, and is not there yet.
        slow.execute(
            "INSERT INTO switchboard.audit_records (chain, seq, call, body, prev, hash)"
            " VALUES ('slow', 1, 'slow', '', '', '')"
        )
        await one.append(a_record("second"))
        assert [row.call async for row in reader.read(after=first.seq)] == []
        slow.commit()
    later = [row.call async for row in reader.read(after=first.seq)]
    assert later == ["slow", "second"]
    await one.aclose()


# Tampering, by somebody who has the database and not the key


TAMPERED = {
    "edited": "UPDATE audit_records SET body = '{}' WHERE chain = 'a' AND seq = 4",
    "filed": "UPDATE audit_records SET call = 'other' WHERE chain = 'a' AND seq = 4",
    "deleted": "DELETE FROM audit_records WHERE chain = 'a' AND seq = 4",
    "cut": "DELETE FROM audit_records WHERE chain = 'a' AND seq > 4",
    "reordered": """
        UPDATE audit_records SET seq = -seq WHERE chain = 'a' AND seq IN (3, 4);
        UPDATE audit_records SET seq = CASE seq WHEN -3 THEN 4 ELSE 3 END
            WHERE chain = 'a' AND seq < 0""",
    "shown in another order": """
        CREATE TEMPORARY TABLE kept AS SELECT * FROM audit_records WHERE chain = 'a';
        DELETE FROM audit_records WHERE chain = 'a';
        INSERT INTO audit_records (chain, seq, call, body, prev, hash, seal)
            SELECT chain, seq, call, body, prev, hash, seal FROM kept ORDER BY seq DESC""",
    "renamed": """
        UPDATE audit_records SET chain = 'c' WHERE chain = 'a';
        UPDATE audit_heads SET chain = 'c' WHERE chain = 'a'""",
    "put in": """
        INSERT INTO audit_records (chain, seq, call, body, prev, hash)
            SELECT 'a', seq + 1, '', '', hash, hash FROM audit_records
            WHERE chain = 'a' ORDER BY seq DESC LIMIT 1""",
    "without its head": "DELETE FROM audit_heads WHERE chain = 'a'",
    "with another head": "UPDATE audit_heads SET seq = seq - 1 WHERE chain = 'a'",
    # An old head is well signed: only what the other chain saw of it tells.
    "rolled back": """
        DELETE FROM audit_records WHERE chain = 'a' AND seq > (SELECT seq FROM older);
        UPDATE audit_heads SET seq = older.seq, hash = older.hash, signature = older.signature
            FROM older WHERE audit_heads.chain = 'a'""",
    "removed": """
        DELETE FROM audit_records WHERE chain = 'a';
        DELETE FROM audit_heads WHERE chain = 'a'""",
}


@pytest.mark.parametrize("how", TAMPERED)
async def test_whoever_changes_the_log_is_found(
    address: DatabaseAddress, postgres: Cluster, how: str
) -> None:
    a = PostgresAudit(address, "a", KEY)
    b = PostgresAudit(address, "b", KEY, anchor_s=0)
    for number in range(3):
        await a.append(a_record(f"a-{number}"))
    postgres.run(
        "CREATE TABLE switchboard.older AS SELECT * FROM switchboard.audit_heads WHERE chain = 'a'",
        address,
    )
    for number in range(3, 6):
        await a.append(a_record(f"a-{number}"))
    await b.append(a_record("b-0"))
    await b.append(a_record("b-1"))
    assert (await b.verify()).findings == ()
    await a.aclose()
    # A careful one leaves the guards as they were.
    guards = "ALTER TABLE audit_records {} TRIGGER USER"
    postgres.run(
        f"SET search_path = switchboard; {guards.format('DISABLE')}; {TAMPERED[how]};"
        f" {guards.format('ENABLE')}",
        address,
    )
    found = await b.verify()
    assert not found.is_whole
    assert all("chain a: " in each.says or "chain c: " in each.says for each in found.findings)
    await b.aclose()


async def test_a_log_without_its_guards_says_so(
    address: DatabaseAddress, postgres: Cluster, reader: PostgresAudit
) -> None:
    await reader.append(a_record("one"))
    with pytest.raises(psycopg.errors.RaiseException, match="never changed or deleted"):
        postgres.run("DELETE FROM switchboard.audit_records", address)
    with pytest.raises(psycopg.errors.RaiseException, match="never changed or deleted"):
        postgres.run("TRUNCATE switchboard.audit_records", address)
    postgres.run("ALTER TABLE switchboard.audit_records DISABLE TRIGGER USER", address)
    assert {each.kind for each in (await reader.verify()).findings} == {"unguarded"}


async def test_a_replica_notices_that_its_own_chain_was_put_back_and_writes_it_down(
    address: DatabaseAddress, postgres: Cluster, reader: PostgresAudit
) -> None:
    for number in range(3):
        await reader.append(a_record(f"c{number}"))
    postgres.run(
        "SET search_path = switchboard; ALTER TABLE audit_records DISABLE TRIGGER USER;"
        " DELETE FROM audit_records; DELETE FROM audit_heads;"
        " ALTER TABLE audit_records ENABLE TRIGGER USER",
        address,
    )
    await reader.append(a_record("later"))
    assert {each.kind for each in (await reader.verify()).findings} == {"recovered"}


async def test_a_log_stays_whole_over_a_change_of_the_secret_and_not_when_it_is_undone(
    address: DatabaseAddress,
) -> None:
    old, new = b"o" * 32, b"n" * 32
    keys = [AuditKey(old), AuditKey(old, [new]), AuditKey(new, [old])]
    logs = [PostgresAudit(address, "a", key) for key in keys]
    for number, log in enumerate(logs):
        await log.append(a_record(f"c{number}"))
        assert (await log.verify()).findings == ()
        await log.aclose()
    forgotten = PostgresAudit(address, "b", AuditKey(new))
    # Without the old one nobody can tell what was sealed with it from what a stranger did.
    assert {each.kind for each in (await forgotten.verify()).findings} == {"seal-invalid"}
    await forgotten.aclose()
    thief, ours = (
        PostgresAudit(address, "a", AuditKey(old, [new])),
        PostgresAudit(address, "c", AuditKey(new, [old])),
    )
    await thief.append(a_record("forged"))
    [found] = (await ours.verify()).findings
    assert (found.kind, "changed for another" in found.says) == ("seal-invalid", True)
    await thief.aclose()
    await ours.aclose()


async def test_a_log_of_another_key_is_not_whole(address: DatabaseAddress) -> None:
    ours, theirs = (PostgresAudit(address, "a", key) for key in (KEY, AuditKey(b"o" * 32)))
    await ours.append(a_record("one"))
    kinds = {each.kind for each in (await theirs.verify()).findings}
    assert kinds == {"seal-invalid", "head-forged", "unsealed"}
    await ours.aclose()
    await theirs.aclose()
