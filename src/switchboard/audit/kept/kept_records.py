"""What outlives the segment that it was written in: everything but calls that only read.

Whoever can call what only reads can do so without end and without a question, and so fill segment
after segment. Before a segment is given up, all other records are copied to files of their own. The
record that a segment was given up says which ones, so that `verify` misses them.
"""

import os
import sqlite3
from collections.abc import Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from switchboard.audit.database import SegmentDamaged, connect, insert, make_index, make_kept
from switchboard.audit.paths import AuditPaths
from switchboard.audit.segment_reader import SegmentReader
from switchboard.core.audit import AuditApproval, AuditKept, AuditRow

# A file of this size is followed by the next; the oldest goes when there are more.
KEPT_BYTES = 64 << 20
KEPT_FILES = 4
_CALLS = frozenset({"tool.call.started", "tool.call.finished"})
_CHEAP = frozenset({"tool.call.refused", "audit.opened"})


class _Judged(Struct):
    """What of a record decides how long it is kept."""

    event: str
    side_effects: bool | None = None
    approval: AuditApproval | None = None


_read = msgspec.json.Decoder(_Judged).decode


def outlives(body: bytes) -> bool:
    """Whether a record is kept longer than its segment.

    A refusal is not: anybody can have one as often as they like. What a person decided has a
    record of its own.
    """
    try:
        record = _read(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return True
    if record.event in _CHEAP:
        return False
    if record.event not in _CALLS or record.side_effects is not False:
        return True
    return record.approval is not None and record.approval.decision != "not_required"


def digest_of(hashes: bytes) -> str:
    """What vouches for kept records: a hash of theirs, one after the other."""
    return sha256(b"switchboard.audit.kept/1\n" + hashes).hexdigest()


class KeptRecords:
    """The files of kept records. Used by whoever holds the lock of the log."""

    def __init__(
        self, paths: AuditPaths, *, file_bytes: int = KEPT_BYTES, files: int = KEPT_FILES
    ) -> None:
        self._paths = paths
        self._file_bytes = file_bytes
        self._files = files

    def keep(self, number: int) -> AuditKept | None:
        """Copy what outlives a segment; done twice it changes nothing. Nothing if that is none."""
        rows: list[AuditRow] = []
        try:
            with SegmentReader(self._paths.segment(number)) as reader:
                rows.extend(row for row in reader.rows() if outlives(row.body))
        except (SegmentDamaged, sqlite3.DatabaseError):
            # What could be read of it is more than nothing.
            pass
        if not rows:
            return None
        self._write(rows)
        hashes = b"".join(row.hash for row in rows)
        return AuditKept(
            first=rows[0].seq, last=rows[-1].seq, records=len(rows), hash=digest_of(hashes)
        )

    def surplus(self) -> int:
        """The number of the last kept record that has to go for its size, or 0."""
        found = 0
        for number in self._paths.kept_files()[: -self._files]:
            with SegmentReader(self._paths.kept(number)) as reader:
                found = next((row.seq for row in reader.backwards()), found)
        return found

    def drop(self) -> None:
        """Give up the oldest files."""
        for number in self._paths.kept_files()[: -self._files]:
            path = self._paths.kept(number)
            for end_of_name in ("", "-wal", "-shm"):
                path.with_name(path.name + end_of_name).unlink(missing_ok=True)

    def _write(self, rows: Sequence[AuditRow]) -> None:
        database = self._current()
        try:
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            # A process that was killed may have left some of them.
            database.execute(
                "DELETE FROM records WHERE seq BETWEEN ? AND ?", (rows[0].seq, rows[-1].seq)
            )
            insert(database, rows)
            make_index(database)
            database.execute("COMMIT")
        finally:
            database.close()

    def _current(self) -> sqlite3.Connection:
        numbers = self._paths.kept_files()
        number = numbers[-1] if numbers else 1
        path = self._paths.kept(number)
        if numbers and os.stat(path).st_size >= self._file_bytes:
            path = self._paths.kept(number + 1)
        if not path.exists():
            make_kept(path)
        return connect(path)
