"""Whoever changes the files without the key is found out; how far, is said here too."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.ground import Ground, a_record, rehash, unguarded
from support.requirements import requirement
from switchboard.audit.chain import hash_of
from switchboard.audit.verify import verify
from switchboard.core.audit import AuditMark
from switchboard.core.events import AuditRecovered

RECORDS = 20


def segment(ground: Ground) -> Path:
    return ground.paths.segment(1)


def edit(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("UPDATE records SET body = replace(body, 'ok', 'no') WHERE seq = 7")


def edit_and_hash_that_one_again(ground: Ground) -> None:
    edit(ground)
    with unguarded(segment(ground)) as database:
        prev, body = database.execute(
            "SELECT prev, CAST(body AS BLOB) FROM records WHERE seq = 7"
        ).fetchone()
        database.execute("UPDATE records SET hash = ? WHERE seq = 7", (hash_of(7, prev, body),))


def delete(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("DELETE FROM records WHERE seq = 7")


def delete_and_renumber(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("DELETE FROM records WHERE seq = 7")
        database.execute("UPDATE records SET seq = -seq WHERE seq > 7")
        database.execute("UPDATE records SET seq = -seq - 1 WHERE seq < 0")


def swap(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        for old, new in ((7, -7), (8, 7), (-7, 8)):
            database.execute("UPDATE records SET seq = ? WHERE seq = ?", (new, old))


def truncate(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("DELETE FROM records WHERE seq > 15")


def truncate_with_the_seal_of_the_last_group_as_head(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("DELETE FROM records WHERE seq > 15")
        seq, found, seal = database.execute(
            "SELECT seq, hash, seal FROM records ORDER BY seq DESC LIMIT 1"
        ).fetchone()
    head = json.dumps({"seq": seq, "hash": found.hex(), "signature": seal.hex()})
    ground.paths.head.write_text(head.ljust(511) + "\n", "utf-8")


def hash_everything_again(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("UPDATE records SET body = replace(body, 'ok', 'no') WHERE seq = 7")
        rehash(database)


def hash_everything_again_with_a_new_head(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("UPDATE records SET body = replace(body, 'ok', 'no'), seal = NULL")
        found = rehash(database)
        (seq,) = database.execute("SELECT max(seq) FROM records").fetchone()
    head = json.dumps({"seq": seq, "hash": found.hex(), "signature": "00" * 32})
    ground.paths.head.write_text(head.ljust(511) + "\n", "utf-8")


def append_without_the_key(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute(
            "INSERT INTO records SELECT seq + 1, 'x', '{}', hash, zeroblob(32), zeroblob(32)"
            " FROM records ORDER BY seq DESC LIMIT 1"
        )
        rehash(database)


def file_under_another_call(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("UPDATE records SET call = 'hidden' WHERE seq = 7")


def put_other_types_in(ground: Ground) -> None:
    with unguarded(segment(ground)) as database:
        database.execute("UPDATE records SET hash = 'text', prev = 5, call = 1.5 WHERE seq = 7")


def take_a_guard_away(ground: Ground) -> None:
    database = sqlite3.connect(segment(ground), isolation_level=None)
    database.execute("DROP TRIGGER records_remain")
    database.close()


def remove_head(ground: Ground) -> None:
    ground.paths.head.unlink()


def garble_head(ground: Ground) -> None:
    ground.paths.head.write_bytes(b"\xff" * 512)


def remove_key(ground: Ground) -> None:
    ground.paths.key.unlink()


def replace_key(ground: Ground) -> None:
    ground.paths.key.write_bytes(os.urandom(32))


def remove_records(ground: Ground) -> None:
    shutil.rmtree(ground.paths.folder)


ATTACKS: list[tuple[Callable[[Ground], None], set[str]]] = [
    (edit, {"edited"}),
    (edit_and_hash_that_one_again, {"replaced"}),
    (delete, {"missing"}),
    (delete_and_renumber, {"edited"}),
    (swap, {"edited"}),
    (truncate, {"truncated"}),
    (truncate_with_the_seal_of_the_last_group_as_head, {"head-forged"}),
    (hash_everything_again, {"seal-invalid", "replaced"}),
    (hash_everything_again_with_a_new_head, {"head-forged", "unsealed"}),
    (append_without_the_key, {"unsealed"}),
    (file_under_another_call, {"edited"}),
    (put_other_types_in, {"edited"}),
    (take_a_guard_away, {"unguarded"}),
    (remove_head, {"head-missing"}),
    (garble_head, {"head-forged"}),
    (remove_key, {"key-missing"}),
    (replace_key, {"head-forged", "seal-invalid"}),
    (remove_records, {"truncated"}),
]


@pytest.mark.parametrize(
    ("attack", "kinds"), ATTACKS, ids=lambda value: getattr(value, "__name__", "")
)
async def test_an_attack_is_found(
    ground: Ground, attack: Callable[[Ground], None], kinds: set[str]
) -> None:
    await ground.write(RECORDS)
    assert ground.verified().is_whole
    attack(ground)
    assert kinds <= ground.found()


async def test_a_finding_says_where(ground: Ground) -> None:
    await ground.write(RECORDS)
    edit(ground)
    (finding,) = ground.verified().findings
    assert (finding.kind, finding.seq) == ("edited", 7)


@pytest.mark.parametrize(
    "attack",
    [truncate, remove_head, garble_head, remove_key, remove_records],
    ids=lambda a: a.__name__,
)
async def test_whoever_writes_next_does_not_hide_it(
    ground: Ground, attack: Callable[[Ground], None]
) -> None:
    await ground.write(RECORDS)
    attack(ground)
    await ground.write(3, start=100)
    assert "recovered" in ground.found()
    # The program goes on: what is written now is there.
    assert ground.calls()[-3:] == ["call-100", "call-101", "call-102"]
    # And it says so once.
    assert len([event for event in ground.told if isinstance(event, AuditRecovered)]) == 1


async def test_a_running_process_notices_that_the_files_are_others(ground: Ground) -> None:
    async with ground.writing() as writer:
        await writer.append(a_record("before"))
        shutil.rmtree(ground.paths.folder)
        shutil.rmtree(ground.paths.state)
        await writer.append(a_record("after"))
        assert ground.calls() == ["after"]
        assert "recovered" in ground.found()


# Older copies of everything


async def test_a_roll_back_of_everything_is_found_by_what_was_noted_elsewhere(
    ground: Ground, tmp_path: Path
) -> None:
    """The files alone cannot tell: they were whole once, and say so."""
    await ground.write(5)
    ground.copy_to(tmp_path / "old")
    await ground.write(5, start=5)
    later = ground.verified()
    ground.put_back(tmp_path / "old")
    assert ground.verified().is_whole
    noted = AuditMark(seq=later.last, hash=later.hash[:16])
    found = verify(ground.paths, expect=noted)
    assert [finding.kind for finding in found.findings] == ["unexpected"]
    assert not verify(ground.paths, expect=AuditMark(seq=3, hash="00" * 8)).is_whole


async def test_a_roll_back_under_a_running_process_is_found_by_it(
    ground: Ground, tmp_path: Path
) -> None:
    async with ground.writing() as writer:
        await writer.append(a_record("kept"))
        ground.copy_to(tmp_path / "old")
        await writer.append(a_record("rolled back"))
        ground.put_back(tmp_path / "old")
        await writer.append(a_record("after"))
    assert ground.calls() == ["kept", "after"]
    assert "recovered" in ground.found()


async def test_a_roll_back_of_the_records_alone_is_found_by_the_head(
    ground: Ground, tmp_path: Path
) -> None:
    await ground.write(5)
    ground.copy_to(tmp_path / "old")
    await ground.write(5, start=5)
    ground.put_back(tmp_path / "old", ["audit"])
    assert ground.found() == {"truncated"}


async def test_a_head_that_lags_is_told_from_a_log_that_was_cut(
    ground: Ground, tmp_path: Path
) -> None:
    """What a process leaves behind that is killed between the records and the head."""
    await ground.write(5)
    ground.copy_to(tmp_path / "old")
    await ground.write(2, start=5)
    ground.put_back(tmp_path / "old", ["state"])
    found = ground.verified()
    assert (found.is_whole, found.ahead) == (True, 2)
    await ground.write(1, start=7)
    found = ground.verified()
    assert (found.is_whole, found.ahead) == (True, 0)
    assert ground.calls() == [f"call-{number}" for number in range(8)]


@requirement("S3.67")
async def test_the_key_is_in_no_record_and_arguments_cannot_be_guessed(ground: Ground) -> None:
    async with ground.writing() as writer:
        payload = b'{"pin":"hunter2hunter2"}'
        await writer.append(lambda: a_record(args_sha256=writer.fingerprint(payload)))
        ours = writer.fingerprint(payload)
    assert ours.encode() in ground.rows()[-1].body
    other = Ground(ground.paths.home.with_name("other"))
    async with other.writing() as writer:
        await writer.append(lambda: a_record(args_sha256=writer.fingerprint(payload)))
        theirs = writer.fingerprint(payload)
    assert ours != theirs
    assert len(ours) == 64
    key = ground.paths.key.read_bytes()
    for path in ground.paths.folder.iterdir():
        assert key not in path.read_bytes()
        assert b"hunter2hunter2" not in path.read_bytes()
