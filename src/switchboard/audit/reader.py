"""Read-only view of the audit log. A broken place does not hide the rest."""

import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from switchboard.audit.database import SegmentDamaged
from switchboard.audit.paths import AuditPaths
from switchboard.audit.segment_reader import SegmentReader
from switchboard.core.audit import AuditRow
from switchkit.files import NotPrivate

_UNREADABLE = (SegmentDamaged, NotPrivate, OSError, sqlite3.Error)


class _File(Struct, frozen=True):
    path: Path
    name: str
    # Of kept records: from this number on they are in a segment as well, after a process was
    # killed while it gave one up.
    below: int | None = None

    def of(self, rows: Iterable[AuditRow]) -> Iterator[AuditRow]:
        return (row for row in rows if self.below is None or row.seq < self.below)


class AuditReader:
    """Reads every segment. What cannot be read is told once, in words."""

    def __init__(self, paths: AuditPaths, *, tell: Callable[[str], None] = lambda _: None) -> None:
        self._paths = paths
        self._tell = tell
        self._told: set[str] = set()

    def rows(self, after: int = -1) -> Generator[AuditRow]:
        """Every record after a number, oldest first."""
        for file in self._files():
            yield from self._rows_in(file, after)

    def backwards(self) -> Generator[AuditRow]:
        """Every record, newest first."""
        for file in reversed(self._files()):
            with self._reading(file) as reader:
                if reader is not None:
                    yield from file.of(reader.backwards())

    def of_call(self, call: str) -> list[AuditRow]:
        """The records about one call, oldest first."""
        found: list[AuditRow] = []
        for file in self._files():
            with self._reading(file) as reader:
                if reader is not None:
                    found += file.of(reader.rows_of(call))
        return found

    def at(self, seq: int) -> AuditRow | None:
        """The record of a number."""
        for file in reversed(self._files()):
            with self._reading(file) as reader:
                if reader is not None and (found := reader.row(seq)) is not None:
                    return found
        return None

    def _files(self) -> list[_File]:
        """What is kept of segments that were given up, and the segments, oldest first."""
        paths = self._paths
        kept, segments = paths.kept_files(), paths.segments()
        live = self._first_in(paths.segment(segments[0])) if kept and segments else None
        return [
            *(_File(paths.kept(number), f"file {number} of kept records", live) for number in kept),
            *(_File(paths.segment(number), f"segment {number}") for number in segments),
        ]

    def _first_in(self, path: Path) -> int | None:
        try:
            with SegmentReader(path) as reader:
                return next((row.seq for row in reader.rows()), None)
        except _UNREADABLE:
            # It is told when its turn comes.
            return None

    def _rows_in(self, file: _File, after: int) -> Iterator[AuditRow]:
        with self._reading(file) as reader:
            if reader is None:
                return
            try:
                for row in file.of(reader.rows(after)):
                    after = row.seq
                    yield row
            except SegmentDamaged as damage:
                behind = reader.beyond_damage()
                if behind is None or behind <= after:
                    raise
                self._say(file, f"{damage}; records {after + 1} to {behind - 1} are left out")
                yield from file.of(reader.rows(behind - 1))

    @contextmanager
    def _reading(self, file: _File) -> Generator[SegmentReader | None]:
        try:
            reader = SegmentReader(file.path)
        except FileNotFoundError:
            # Given up since we looked.
            yield None
            return
        except _UNREADABLE as error:
            self._say(file, str(error))
            yield None
            return
        with reader:
            try:
                yield reader
            except (SegmentDamaged, sqlite3.Error) as error:
                self._say(file, str(error))

    def _say(self, file: _File, why: str) -> None:
        text = f"{file.name} of the audit log cannot be read whole: {why}"
        if text not in self._told:
            self._told.add(text)
            self._tell(text)
