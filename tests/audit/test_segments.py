"""Segments: full ones, given-up ones, broken ones."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from audit.ground import Ground, a_record, unguarded
from switchboard.audit.reader import AuditReader

SMALL = 48 << 10
PAGE = 4096


def break_page(path: Path, page: int) -> None:
    """Overwrite one page of a segment. The first one is page 0."""
    with path.open("r+b") as file:
        file.seek(page * PAGE)
        file.write(b"\xa5" * PAGE)


def has_index(ground: Ground, number: int) -> bool:
    with closing(sqlite3.connect(ground.paths.segment(number))) as database:
        query = "SELECT count(*) FROM sqlite_master WHERE name = 'records_by_call'"
        return database.execute(query).fetchone() == (1,)


async def several_segments(ground: Ground, count: int = 150) -> None:
    async with ground.writing(segment_bytes=SMALL) as writer:
        for number in range(count):
            writer.post(a_record(f"call-{number}", note="x" * 300))
            if number % 10 == 9:
                await writer.flush()


async def test_a_full_segment_ends_with_the_hash_that_the_next_one_begins_with(
    ground: Ground,
) -> None:
    await several_segments(ground)
    assert len(ground.paths.segments()) > 1
    found = ground.verified()
    assert found.findings == ()
    assert found.first == 1
    assert len(ground.calls()) == 150


async def test_the_oldest_segments_are_given_up_and_that_is_no_attack(ground: Ground) -> None:
    await several_segments(ground, 500)
    assert len(ground.paths.segments()) == 3
    found = ground.verified()
    assert found.findings == ()
    assert found.first > 1
    assert ground.calls()[-1] == "call-499"
    assert ground.notes("audit.retired")


async def test_a_call_is_found_by_the_index_in_full_segments_and_by_reading_in_the_last(
    ground: Ground,
) -> None:
    await several_segments(ground)
    *full, last = ground.paths.segments()
    assert [has_index(ground, number) for number in full] == [True] * len(full)
    assert not has_index(ground, last)
    reader = AuditReader(ground.paths)
    for number in range(150):
        assert [row.call for row in reader.of_call(f"call-{number}")] == [f"call-{number}"]


async def test_an_index_that_somebody_took_away_is_missed(ground: Ground) -> None:
    await several_segments(ground)
    with unguarded(ground.paths.segment(1)) as database:
        database.execute("DROP INDEX records_by_call")
    assert ground.found() == {"unguarded"}


async def test_a_segment_that_had_its_index_from_the_start_is_gone_on_with(ground: Ground) -> None:
    await ground.write(2)
    with unguarded(ground.paths.segment(1)) as database:
        database.execute("CREATE INDEX records_by_call ON records (call) WHERE call <> ''")
    await several_segments(ground)
    assert len(ground.paths.segments()) > 1
    assert ground.verified().findings == ()
    assert len(AuditReader(ground.paths).of_call("call-1")) == 2


@pytest.mark.parametrize("which", [0, 1, -1])
async def test_a_segment_that_somebody_took_away_is_missed(ground: Ground, which: int) -> None:
    await several_segments(ground, 500)
    number = ground.paths.segments()[which]
    for path in ground.paths.folder.glob(f"log-{number:06}.db*"):
        path.unlink()
    assert ground.found() & {"missing", "truncated"}


async def test_a_draft_that_a_killed_process_left_is_no_segment(ground: Ground) -> None:
    await ground.write(1)
    draft = ground.paths.folder / "log-000002.db.new"
    draft.write_bytes(b"half")
    await several_segments(ground)
    assert ground.verified().findings == ()
    assert not draft.exists()


async def test_a_broken_segment_is_told_in_one_sentence_and_the_rest_is_read(
    ground: Ground,
) -> None:
    await several_segments(ground)
    numbers = ground.paths.segments()
    ground.paths.segment(numbers[0]).write_bytes(b"this is not a database at all" * 200)
    told: list[str] = []
    reader = AuditReader(ground.paths, tell=told.append)
    read = [row.call for row in reader.rows()]
    assert read
    assert read[-1] == "call-149"
    assert len(told) == 1
    assert "segment 1" in told[0]
    # Asked again it need not be said again.
    assert next(iter(reader.backwards())).call == "call-149"
    assert reader.of_call("call-149")
    assert reader.at(2) is None
    assert len(told) == 1
    assert ground.found() >= {"unreadable"}


async def test_one_broken_page_takes_no_other_with_it(ground: Ground) -> None:
    await ground.write(60)
    whole = ground.calls()
    path = ground.paths.segment(1)
    pages = path.stat().st_size // PAGE
    assert pages > 6
    break_page(path, 5)
    told: list[str] = []
    read = [row.call for row in AuditReader(ground.paths, tell=told.append).rows() if row.call]
    assert set(read) < set(whole)
    assert len(read) > len(whole) // 2
    assert len(told) == 1
    assert not ground.verified().is_whole


@pytest.mark.parametrize("content", [b"", b"not a database" * 1000])
async def test_the_program_goes_on_after_a_broken_segment(ground: Ground, content: bytes) -> None:
    await ground.write(5)
    ground.paths.segment(1).write_bytes(content)
    await ground.write(3, start=5)
    assert ground.calls() == ["call-5", "call-6", "call-7"]
    assert ground.paths.segments() == [1, 2]
    found = ground.verified()
    assert {"unreadable", "recovered"} <= {finding.kind for finding in found.findings}
    # The numbers go on, so that a record has one number for ever.
    assert found.last == 11


async def test_what_is_overwritten_under_a_running_process_is_found_at_the_latest_by_verify(
    ground: Ground,
) -> None:
    """SQLite remembers pages, so the process itself need not notice at once."""
    async with ground.writing() as writer:
        await writer.append(a_record("before"))
        for end in ("", "-wal"):
            path = ground.paths.segment(1)
            path = path.with_name(path.name + end)
            path.write_bytes(b"\xa5" * path.stat().st_size)
        await writer.append(a_record("after"))
    assert ground.found() >= {"unreadable"}
    # The next process goes on.
    await ground.write(1)
    assert ground.calls() == ["call-0"]
