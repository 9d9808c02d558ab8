"""Read-only view of the audit log. A broken place does not hide the rest."""

import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from switchboard.audit.database import SegmentDamaged
from switchboard.audit.paths import AuditPaths
from switchboard.audit.segment_reader import SegmentReader
from switchboard.core.audit import AuditRow
from switchkit.files import NotPrivate

_UNREADABLE = (SegmentDamaged, NotPrivate, OSError, sqlite3.Error)


class AuditReader:
    """Reads every segment. What cannot be read is told once, in words."""

    def __init__(self, paths: AuditPaths, *, tell: Callable[[str], None] = lambda _: None) -> None:
        self._paths = paths
        self._tell = tell
        self._told: set[str] = set()

    def rows(self, after: int = -1) -> Generator[AuditRow]:
        """Every record after a number, oldest first."""
        for number in self._paths.segments():
            yield from self._rows_in(number, after)

    def backwards(self) -> Generator[AuditRow]:
        """Every record, newest first."""
        for number in reversed(self._paths.segments()):
            with self._reading(number) as reader:
                if reader is not None:
                    yield from reader.backwards()

    def of_call(self, call: str) -> list[AuditRow]:
        """The records about one call, oldest first."""
        found: list[AuditRow] = []
        for number in self._paths.segments():
            with self._reading(number) as reader:
                if reader is not None:
                    found += reader.rows_of(call)
        return found

    def at(self, seq: int) -> AuditRow | None:
        """The record of a number."""
        for number in reversed(self._paths.segments()):
            with self._reading(number) as reader:
                if reader is not None and (found := reader.row(seq)) is not None:
                    return found
        return None

    def _rows_in(self, number: int, after: int) -> Iterator[AuditRow]:
        with self._reading(number) as reader:
            if reader is None:
                return
            try:
                for row in reader.rows(after):
                    after = row.seq
                    yield row
            except SegmentDamaged as damage:
                behind = reader.beyond_damage()
                if behind is None or behind <= after:
                    raise
                self._say(number, f"{damage}; records {after + 1} to {behind - 1} are left out")
                yield from reader.rows(behind - 1)

    @contextmanager
    def _reading(self, number: int) -> Generator[SegmentReader | None]:
        try:
            reader = SegmentReader(self._paths.segment(number))
        except FileNotFoundError:
            # Given up for its size since we looked.
            yield None
            return
        except _UNREADABLE as error:
            self._say(number, str(error))
            yield None
            return
        with reader:
            try:
                yield reader
            except (SegmentDamaged, sqlite3.Error) as error:
                self._say(number, str(error))

    def _say(self, number: int, why: str) -> None:
        text = f"segment {number} of the audit log cannot be read whole: {why}"
        if text not in self._told:
            self._told.add(text)
            self._tell(text)
