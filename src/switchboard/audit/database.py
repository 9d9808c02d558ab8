"""The SQLite file of a segment: how it is made, opened and read. Rows are added in order only.

Triggers keep an honest program from changing rows; against others there is the chain.
"""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote

from switchboard.core.audit import AuditRow
from switchkit.files import open_private, sync_folder

FIELDS = "seq, call, CAST(body AS BLOB), prev, hash, seal"
# What a segment is made of, by the names below, and what a full one has besides.
OBJECTS = frozenset({"records", "records_stay", "records_remain", "records_follow"})
OBJECTS_WHEN_FULL = OBJECTS | {"records_by_call"}
# `immutable` is for a copy on a medium that cannot be written: nothing is made beside it.
Mode = Literal["rw", "ro", "immutable"]
_APPLICATION = 0x53424155
_VERSION = 1
_PATIENCE_S = 5.0
# Rows for one statement: each statement gives the interpreter away once, so few are better.
_AT_ONCE = 64

_RECORDS = """
CREATE TABLE records (
  seq INTEGER PRIMARY KEY, call TEXT NOT NULL, body TEXT NOT NULL,
  prev BLOB NOT NULL, hash BLOB NOT NULL, seal BLOB
);
"""
_GUARDS = """
CREATE TRIGGER records_stay BEFORE UPDATE ON records
  BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
CREATE TRIGGER records_remain BEFORE DELETE ON records
  BEGIN SELECT RAISE(ABORT, 'a record is never deleted'); END;
-- Two writers that both believe they are next would fork the chain; one of them is refused.
CREATE TRIGGER records_follow BEFORE INSERT ON records
  WHEN (SELECT hash FROM records ORDER BY seq DESC LIMIT 1) <> NEW.prev
  BEGIN SELECT RAISE(ABORT, 'a record follows the last one'); END;
"""
# Made at once when a segment is full. Kept up with every group it would take half of SQLite's time
# and most of what it writes: each caller's ids lie on a page of their own, to be written again.
_INDEX = "CREATE INDEX IF NOT EXISTS records_by_call ON records (call) WHERE call <> ''"


class SegmentDamaged(Exception):
    """The file is no database of ours, or not a whole one."""


class DamageTold:
    """Inside its `with` a broken database raises `SegmentDamaged`; what may pass is left alone."""

    def __enter__(self) -> None:
        """There is nothing to prepare."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A locked file or a full disk is an `OperationalError`, which is a `DatabaseError` too.
        passing = (sqlite3.OperationalError, sqlite3.IntegrityError, sqlite3.ProgrammingError)
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, passing):
            raise SegmentDamaged(str(error)) from error


def connect(path: Path, mode: Mode = "rw") -> sqlite3.Connection:
    """The database at a path, which is one of ours. Raises `SegmentDamaged` or a SQLite error."""
    words = "immutable=1" if mode == "immutable" else f"mode={mode}"
    database = sqlite3.connect(
        f"file:{quote(str(path))}?{words}", uri=True, timeout=_PATIENCE_S, isolation_level=None
    )
    try:
        with DamageTold():
            application = database.execute("PRAGMA application_id").fetchone()[0]
            version = database.execute("PRAGMA user_version").fetchone()[0]
        if application != _APPLICATION:
            raise SegmentDamaged("it is not an audit log")
        if version != _VERSION:
            raise SegmentDamaged(f"it is of version {version}, and {_VERSION} is known here")
    except BaseException:
        database.close()
        raise
    return database


def make_segment(path: Path, first: AuditRow) -> None:
    """A segment that begins with this row. It appears whole or not at all."""
    _make(path, _RECORDS + _GUARDS, [first])


def make_kept(path: Path) -> None:
    """A file for records of several segments, which need not follow each other."""
    _make(path, _RECORDS, [])


def _make(path: Path, tables: str, rows: Sequence[AuditRow]) -> None:
    draft = path.with_name(f"{path.name}.new")
    for end in ("", "-journal", "-wal", "-shm"):
        draft.with_name(draft.name + end).unlink(missing_ok=True)
    os.close(open_private(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    database = sqlite3.connect(draft, timeout=_PATIENCE_S, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = FULL")
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_VERSION}")
        database.executescript(f"BEGIN IMMEDIATE; {tables} COMMIT")
        insert(database, rows)
        # One sync a group instead of three, and readers wait for nobody.
        database.execute("PRAGMA journal_mode = WAL")
    finally:
        database.close()
    draft.rename(path)
    sync_folder(path.parent)


def insert(database: sqlite3.Connection, rows: Sequence[AuditRow]) -> None:
    """Add rows, in as few statements as can be."""
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        places = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(some))
        values: list[Any] = []
        for row in some:
            values += (row.seq, row.call, row.body.decode(), row.prev, row.hash, row.seal)
        database.execute(f"INSERT INTO records VALUES {places}", values)  # noqa: S608 - all bound


def make_index(database: sqlite3.Connection) -> None:
    """Find the records of a call without reading all of them."""
    database.execute(_INDEX)


def row_of(found: Sequence[Any]) -> AuditRow:
    """A row as SQLite gives it. Whoever changed the file may have put anything into it."""
    seq, call, body, prev, hashed, seal = found
    return AuditRow(
        int(seq),
        call if isinstance(call, str) else "",
        _octets(body),
        _octets(prev),
        _octets(hashed),
        None if seal is None else _octets(seal),
    )


def row_at(database: sqlite3.Connection, seq: int) -> AuditRow | None:
    """The row of a number."""
    query = f"SELECT {FIELDS} FROM records WHERE seq = ?"  # noqa: S608 - a constant
    with DamageTold():
        found = database.execute(query, (seq,)).fetchone()
    return None if found is None else row_of(found)


def _octets(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
