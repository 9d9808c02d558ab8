"""Calls that only read, made without end, push no other record out of the log."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from audit.ground import Ground
from support.requirements import attack
from switchboard.audit.chain import NOTHING, hash_of
from switchboard.audit.filter import record_in
from switchboard.audit.kept.kept_records import KeptRecords, outlives
from switchboard.audit.log import AuditLog, entry_of
from switchboard.audit.reader import AuditReader
from switchboard.audit.verify import verify
from switchboard.core.audit import AuditApproval, AuditMark, AuditRecord
from switchboard.core.events import AuditFlooded
from switchboard.core.text.stamps import stamp

SMALL = 24 << 10
APPROVED = AuditApproval(decision="approved", id="q1", mode="once", channel="cli")


def a_record(event: str, call: str, **more: Any) -> AuditRecord:
    return AuditRecord(
        ts=stamp(), event=event, correlation_id=call, session_id="s", tool="t", **more
    )


def a_read(number: int) -> AuditRecord:
    return a_record(
        "tool.call.finished", f"read-{number}", side_effects=False, note="x" * 1500, status="ok"
    )


async def flood(ground: Ground, count: int = 120, *, kept: KeptRecords | None = None) -> None:
    """Decide and write once, and then read and read."""
    async with ground.writing(segment_bytes=SMALL, kept=kept) as writer:
        await writer.append(a_record("approval.decided", "wipe", approval=APPROVED))
        await writer.append(a_record("tool.call.started", "wipe", side_effects=True))
        await writer.append(a_record("tool.call.refused", "tried", side_effects=True))
        for number in range(count):
            writer.post(a_read(number))
            if number % 15 == 14:
                await writer.flush()


@attack("B20")
async def test_a_flood_of_calls_that_only_read_pushes_out_only_its_own_records(
    ground: Ground,
) -> None:
    """Reading without end was enough to have every approval forgotten."""
    await flood(ground)
    assert len(ground.paths.segments()) == 3
    assert ground.paths.segments()[0] > 4
    calls = ground.calls()
    assert calls[:2] == ["wipe", "wipe"]
    assert "tried" not in calls
    assert "read-0" not in calls
    assert calls[-1] == "read-119"
    reader = AuditReader(ground.paths)
    wiped = [record_in(row) for row in reader.of_call("wipe")]
    assert [each.event for each in wiped if each] == ["approval.decided", "tool.call.started"]
    assert [row.call for row in reader.backwards()][-2:] == ["wipe", "wipe"]
    first = reader.at(2)
    assert first is not None
    assert first.call == "wipe"
    found = ground.verified()
    assert found.findings == ()
    # These two, and the notes about segments that were given up meanwhile.
    assert found.kept > 2


@attack("T27")
async def test_a_flood_of_refused_calls_pushes_out_only_its_own_records(ground: Ground) -> None:
    """To be refused costs nothing, and each of them would have changed something."""
    async with ground.writing(segment_bytes=SMALL) as writer:
        await writer.append(a_record("approval.decided", "wipe", approval=APPROVED))
        await writer.append(a_record("tool.call.started", "wipe", side_effects=True))
        for number in range(400):
            writer.post(a_record("tool.call.refused", f"tried-{number}", side_effects=True))
            if number % 15 == 14:
                await writer.flush()
    calls = ground.calls()
    assert calls[:2] == ["wipe", "wipe"]
    assert "tried-0" not in calls
    assert calls[-1] == "tried-399"
    assert ground.verified().findings == ()


def change(ground: Ground, statement: str) -> None:
    with closing(sqlite3.connect(ground.paths.kept(1))) as database, database:
        database.execute(statement)


def forge_leave(ground: Ground) -> None:
    """Put in a record by which all that was kept has been given up, with a hash that fits."""
    body = entry_of(a_record("audit.retired", "", kept_after=1_000_000)).body
    hashed = hash_of(3, NOTHING, body)
    with closing(sqlite3.connect(ground.paths.kept(1))) as database, database:
        database.execute("DELETE FROM records")
        values = (3, "", body.decode(), NOTHING, hashed)
        database.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, NULL)", values)


ATTACKS: dict[str, tuple[Callable[[Ground], object], str]] = {
    "one is deleted": (lambda g: change(g, "DELETE FROM records WHERE seq = 2"), "missing"),
    "one is changed": (
        lambda g: change(g, "UPDATE records SET body = replace(body, 'approved', 'denied')"),
        "edited",
    ),
    "one is put in": (
        lambda g: change(
            g, "INSERT INTO records SELECT 1, call, body, prev, hash, seal FROM records LIMIT 1"
        ),
        "unsealed",
    ),
    "two are swapped": (
        lambda g: change(g, "UPDATE records SET seq = 4 WHERE seq = 2"),
        "edited",
    ),
    "a record says that they were given up": (forge_leave, "missing"),
    "all are gone": (lambda g: g.paths.kept(1).unlink(), "missing"),
    "the file is nonsense": (lambda g: g.paths.kept(1).write_bytes(b"no" * 5000), "unreadable"),
}


async def test_whoever_touches_kept_records_is_found(ground: Ground, tmp_path: Path) -> None:
    await flood(ground)
    ground.copy_to(tmp_path / "copy")
    for name, (do, kind) in ATTACKS.items():
        do(ground)
        assert kind in ground.found(), name
        ground.put_back(tmp_path / "copy")
    assert ground.verified().findings == ()


async def test_a_process_that_was_killed_while_it_gave_up_a_segment_doubles_nothing(
    ground: Ground,
) -> None:
    await flood(ground, 30)
    assert KeptRecords(ground.paths).keep(1) is not None
    assert ground.calls().count("wipe") == 2
    assert ground.verified().findings == ()
    await flood(ground)
    assert ground.verified().findings == ()


async def test_kept_records_have_a_limit_of_their_own_and_giving_them_up_is_no_attack(
    ground: Ground,
) -> None:
    kept = KeptRecords(ground.paths, file_bytes=1, files=2)
    await flood(ground, kept=kept)
    assert len(ground.paths.kept_files()) == 2
    assert "wipe" not in ground.calls()
    assert ground.verified().findings == ()
    [*_, last] = [row for row in ground.rows() if row.seq < ground.verified().first]
    assert ground.verified().is_whole
    noted = AuditMark(seq=last.seq, hash=last.hash.hex()[:16])
    assert verify(ground.paths, expect=noted).is_whole


async def test_old_segments_go_before_there_are_too_many_but_never_the_last_few(
    ground: Ground,
) -> None:
    log = AuditLog(ground.paths, segment_bytes=1)
    for number in range(12):
        log.write([entry_of(a_read(number))])
    assert ground.paths.segments() == list(range(1, 14))
    for number in range(1, 12):
        os.utime(ground.paths.segment(number), (0, 0))
    log.write([entry_of(a_read(12))])
    log.close()
    assert ground.paths.segments() == list(range(7, 15))
    assert ground.verified().findings == ()


async def test_a_session_that_writes_very_much_is_told_of_once(ground: Ground) -> None:
    async with ground.writing(records_a_minute=50) as writer:
        for number in range(200):
            writer.post(a_read(number))
        await writer.flush()
    assert len(ground.notes("audit.flooded")) == 1
    assert [type(event) for event in ground.told].count(AuditFlooded) == 1
    assert ground.verified().findings == ()


@pytest.mark.parametrize(
    ("record", "is_kept"),
    [
        (a_record("tool.call.finished", "c", side_effects=False), False),
        (a_record("tool.call.finished", "c", side_effects=False, approval=APPROVED), True),
        (a_record("tool.call.finished", "c", side_effects=True), True),
        # Of a version that did not say.
        (a_record("tool.call.finished", "c"), True),
        (a_record("login.made", "c"), True),
        (a_record("audit.recovered", "c"), True),
        (a_record("tool.call.refused", "c", side_effects=True), False),
    ],
)
def test_what_outlives_its_segment(record: AuditRecord, *, is_kept: bool) -> None:
    assert outlives(entry_of(record).body) == is_kept
