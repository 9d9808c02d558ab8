"""A segment that is only looked at."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from switchboard.audit.database import (
    FIELDS,
    OBJECTS,
    OBJECTS_WHEN_FULL,
    DamageTold,
    SegmentDamaged,
    connect,
    row_at,
    row_of,
)
from switchboard.core.audit import AuditRow
from switchkit.files import check_private_file

_ALL = f"SELECT {FIELDS} FROM records"  # noqa: S608 - a constant


class SegmentReader:
    """A segment as it is when it is first read; what is written meanwhile is not seen."""

    def __init__(self, path: Path) -> None:
        check_private_file(path)
        self._database = _open(path)
        self._database.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def rows(self, after: int = -1) -> Iterator[AuditRow]:
        """Every row after a number, in order. Raises `SegmentDamaged` where it cannot go on."""
        return self._read(f"{_ALL} WHERE seq > ? ORDER BY seq", after)

    def backwards(self) -> Iterator[AuditRow]:
        """Every row, the last one first."""
        return self._read(f"{_ALL} ORDER BY seq DESC")

    def rows_of(self, call: str) -> Iterator[AuditRow]:
        """The rows about one call."""
        return self._read(f"{_ALL} WHERE call = ? AND call <> '' ORDER BY seq", call)

    def row(self, seq: int) -> AuditRow | None:
        """One row."""
        return row_at(self._database, seq)

    def problems(self, *, is_full: bool) -> Iterator[str]:
        """What SQLite itself finds wrong, and guards of ours that somebody took away."""
        with DamageTold():
            names = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master")}
            for (problem,) in self._database.execute("PRAGMA integrity_check(10)"):
                if problem != "ok":
                    yield str(problem)
        if missing := sorted((OBJECTS_WHEN_FULL if is_full else OBJECTS) - names):
            yield f"{', '.join(missing)} removed"

    def beyond_damage(self) -> int | None:
        """The first number of the rows behind a damaged place, or nothing.

        A broken page takes some rows with it, not those of other pages. They are found from the
        end; between two broken pages nothing is looked for.
        """
        first = None
        try:
            for row in self.backwards():
                first = row.seq
        except SegmentDamaged:
            return first
        return first

    def _read(self, query: str, *values: int | str) -> Iterator[AuditRow]:
        with DamageTold():
            for found in self._database.execute(query, values):
                yield row_of(found)


def _open(path: Path) -> sqlite3.Connection:
    try:
        return connect(path, "ro")
    except sqlite3.OperationalError:
        pending = path.with_name(f"{path.name}-wal")
        if pending.exists() and pending.stat().st_size:
            raise
        # SQLite keeps an index beside a database that others may write; here nobody can.
        return connect(path, "immutable")
