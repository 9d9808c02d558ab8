"""A home of the version before is taken over: nothing that lies in it is lost."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import Raw

from switchboard.approvals.pins import Pins
from switchboard.approvals.store.database import Database
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.audit.filter import record_in
from switchboard.audit.store import SqliteAudit
from switchboard.children.listings.listing import ToolListing
from switchboard.children.listings.listing_cache import ListingCaches
from switchboard.children.schema import ServerEntry
from switchboard.core.audit import AuditRecord
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.origins import Origin
from switchboard.core.questions import Answer
from switchboard.core.stores import PinKey
from switchboard.settings.consent.trust_record import read_trust
from switchboard.settings.fingerprints import sealed

BEFORE = Path(__file__).parent / "before"
# When the home was left: its questions were asked and its approval was given at that moment.
LEFT_AT = 4_000_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give the home as the version before left it."""
    home = tmp_path / "home"
    shutil.copytree(BEFORE, home)
    for dump in home.rglob("*.sql"):
        with closing(sqlite3.connect(dump.with_suffix(""))) as database:
            database.executescript(dump.read_text("utf-8"))
            database.execute("PRAGMA journal_mode = WAL")
        dump.unlink()
    key = home / "state" / "audit.key.hex"
    key.with_suffix("").write_bytes(bytes.fromhex(key.read_text("utf-8")))
    key.unlink()
    for path in (home, *home.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return home


def a_launch(tool: str, description: str) -> Launch:
    spec = ToolSpec(
        name=tool,
        provider="fake",
        description=description,
        input_schema=Raw(b'{"type":"object"}'),
        effects=Effects(read_only=True),
    )
    return Launch(
        tool=spec, server="notes", fingerprint="f1", runs="node notes.js", cwd="/workspace"
    )


async def test_questions_still_wait_and_an_approval_can_still_be_used(home: Path) -> None:
    store = SqliteApprovals(str(home), clock=lambda: LEFT_AT + 60)
    waiting = await store.waiting()
    assert [posted.question.id for posted in waiting] == ["waitsone", "waitstwo"]
    assert waiting[0].question.prompt == "May wipe run?"
    assert [posted.state for posted in await store.recent()] == [
        *("pending", "pending", "approved", "denied")
    ]
    assert await store.decide("waitstwo", Answer(verdict="denied", by="cli", at=0.0))
    assert await store.consume("approved", "d3")
    assert not await store.consume("approved", "d3")
    await store.aclose()


async def test_a_question_of_a_process_that_is_gone_is_cancelled_after_the_upgrade(
    home: Path,
) -> None:
    with closing(sqlite3.connect(home / "state" / "approvals.db")) as database, database:
        ours = ProcessOwners().own().split(":", 2)[2]
        database.execute("UPDATE questions SET owner_namespace = ? WHERE owner != 0", (ours,))
    store = SqliteApprovals(str(home))
    assert [posted.question.id for posted in await store.waiting()] == ["waitstwo"]
    found = await store.find("waitsone")
    assert found is not None
    assert found.state == "cancelled"
    await store.aclose()


async def test_pinned_and_held_tools_are_as_they_were(home: Path) -> None:
    store = SqliteApprovals(str(home))
    pins = Pins(store)
    assert await pins.check(a_launch("find", "Finds notes.")) is None
    [held] = await store.held()
    assert (held.id, held.tool) == ("heldread", "read")
    assert await store.clients(held) == [(7, 70)]
    again = await pins.check(a_launch("read", "Reads it all."))
    assert again is not None
    assert again.id == "heldread"
    assert await pins.check(a_launch("list", "Lists it all.")) is None
    assert await store.unsettled(PinKey("notes", "f1", "list")) is not None
    assert await store.accept(held)
    assert await pins.check(a_launch("read", "Reads it all.")) is None
    await store.aclose()


async def test_the_audit_log_is_whole_and_goes_on(home: Path) -> None:
    log = SqliteAudit(str(home))
    found = await log.verify()
    assert (found.is_whole, found.segments, found.records, found.ahead) == (True, 4, 7, 0)
    calls = [row.call async for row in log.read() if row.call]
    assert calls == ["call-0", "call-1", "call-2"]
    [row] = await log.find("call-1")
    before = record_in(row)
    assert before is not None
    await log.append(
        lambda: AuditRecord(
            ts="2026-11-16T10:00:00.000000Z",
            event="tool.call.finished",
            correlation_id="call-3",
            args_sha256=log.fingerprint(b"{}"),
        )
    )
    [row] = await log.find("call-3")
    after = record_in(row)
    assert after is not None
    # The key is the same, and with it the salt.
    assert after.args_sha256 == before.args_sha256
    assert (await log.verify()).is_whole
    await log.aclose()


def test_what_was_trusted_is_trusted(home: Path) -> None:
    entry = ServerEntry(
        name="notes",
        origin=Origin(),
        transport="stdio",
        command="npx",
        args=("-y", "notes"),
        cwd="/workspace",
    )
    record = read_trust(str(home), [])
    assert record.holds("/workspace", sealed(entry, "/workspace").fingerprint)


async def test_what_a_child_offered_is_remembered(home: Path) -> None:
    tools = await ListingCaches(str(home)).of(b"notes").recall("tools")
    assert isinstance(tools, ToolListing)
    assert list(tools.tools) == ["read"]


def test_an_upgraded_file_is_one_of_this_version(home: Path) -> None:
    Database(str(home)).close()
    with closing(sqlite3.connect(home / "state" / "approvals.db")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (5,)
        owners = database.execute("SELECT id, owner_id FROM questions ORDER BY id").fetchall()
    assert ("waitsone", "999999999:1:pid:[1]") in owners
    assert ("waitstwo", "") in owners
