"""The audit log as its writers see it: groups of records, one after the other, over all processes.

A group is written in this order: lock, read the head, begin, compare head and records, add, commit
(the one sync), write the head, unlock. Only then is anybody told that the records are on disk.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from switchboard.audit.bootstrap import ensure_key
from switchboard.audit.chain import START, Entry, Tip, chained
from switchboard.audit.database import SegmentDamaged, make_segment
from switchboard.audit.head import Head, HeadFile
from switchboard.audit.kept.kept_records import KeptRecords
from switchboard.audit.key import AuditKey
from switchboard.audit.paths import AuditPaths
from switchboard.audit.segment import Segment
from switchboard.audit.segment_reader import SegmentReader
from switchboard.audit.tamper_check import Tampering, check_tampering
from switchboard.core.audit import AuditKept, AuditMark, AuditRecord
from switchboard.core.text.stamps import stamp
from switchkit.files import make_private_folder, open_private

SEGMENT_BYTES = 64 << 20
# Never given up for their age alone, and the most that there are, however young.
_FEWEST_KEPT = 8
SEGMENTS_KEPT = 16
_OLD_S = 30 * 24 * 3600.0
# The head on disk may be this old when the power goes; a killed process loses nothing of it.
_HEAD_SYNC_S = 1.0

_encode = msgspec.json.Encoder().encode


def entry_of(record: AuditRecord) -> Entry:
    """The bytes of a record, as they are hashed and kept."""
    try:
        return Entry(record.correlation_id, _encode(record))
    except UnicodeEncodeError:
        # A path may hold bytes that are no text; the record says so instead of being lost.
        readable = _readable(record)
        return Entry(readable.correlation_id, _encode(readable))


class AuditLog:
    """Writes groups. Used by one thread; other processes may write to the same files."""

    def __init__(
        self,
        paths: AuditPaths,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        segments_kept: int = SEGMENTS_KEPT,
        kept: KeptRecords | None = None,
        on_found: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._paths = paths
        self._segment_bytes = segment_bytes
        self._segments_kept = max(segments_kept, 1)
        self._kept = KeptRecords(paths) if kept is None else kept
        self._on_found = on_found
        self._lock: int | None = None
        self._key: AuditKey | None = None
        self._segment: Segment | None = None
        # What this process itself saw as the end. It outlives a swap of all files for older ones.
        self._seen = START
        self._synced_at = 0.0

    def write(self, entries: Sequence[Entry]) -> None:
        """Write a group. Raises `OSError`, `sqlite3.Error`, `NotPrivate` or `KeyUnusable`."""
        try:
            with self._locked():
                key = self._key = self._key or ensure_key(self._paths)
                with HeadFile(self._paths) as head:
                    self._write(entries, head, key)
        except BaseException:
            # Whatever it was, the next one looks at everything anew.
            self._forget()
            raise

    def idle(self) -> None:
        """There is nothing to be done."""

    def close(self) -> None:
        """Let go of every file."""
        self._forget()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _write(self, entries: Sequence[Entry], file: HeadFile, key: AuditKey) -> None:
        head = file.read()
        if head is not None and not head.is_signed_by(key):
            # Perhaps the key was lost and somebody else made another.
            key = self._key = ensure_key(self._paths)
        try:
            segment = self._current(key)
            last = segment.begin()
        except SegmentDamaged as damage:
            segment = self._after_damage(head, key, damage)
            last = segment.begin()
        notes: list[AuditRecord] = []
        tampering = check_tampering(last, head, self._seen, key, segment.row)
        if tampering is not None:
            notes.append(_recovered(tampering))
            self._on_found(tampering.says)
        end = self._add(segment, Tip.of(last), [*map(entry_of, notes), *entries], file, key)
        if segment.size >= self._segment_bytes:
            try:
                self._rotate(segment, end, file, key)
            except (OSError, sqlite3.Error, SegmentDamaged):
                # The group is on disk all the same; the next one tries again.
                self._forget()
        if time.monotonic() - self._synced_at > _HEAD_SYNC_S:
            file.sync()
            self._synced_at = time.monotonic()

    def _add(
        self, segment: Segment, end: Tip, entries: Sequence[Entry], file: HeadFile, key: AuditKey
    ) -> Tip:
        rows = chained(end, entries, key)
        segment.add(rows)
        segment.commit()
        self._seen = Tip.of(rows[-1])
        file.write(self._seen, key)
        return self._seen

    # Segments

    def _current(self, key: AuditKey) -> Segment:
        """The newest segment, opened or made."""
        segment = self._segment
        if segment is not None:
            if segment.is_newest():
                return segment
            segment.close()
            self._segment = None
        numbers = self._paths.segments()
        if not numbers:
            return self._make(1, START, key)
        self._segment = Segment(self._paths, numbers[-1])
        return self._segment

    def _make(self, number: int, end: Tip, key: AuditKey) -> Segment:
        opened = AuditRecord(
            ts=stamp(), event="audit.opened", pid=os.getpid(), note=f"segment {number}"
        )
        (first,) = chained(end, [entry_of(opened)], key)
        make_segment(self._paths.segment(number), first)
        self._segment = Segment(self._paths, number)
        return self._segment

    def _rotate(self, full: Segment, end: Tip, file: HeadFile, key: AuditKey) -> None:
        """Go on in a new segment, which begins with the hash that the full one ended with."""
        full.complete()
        full.close()
        segment = self._make(full.number + 1, end, key)
        last = segment.begin()
        self._seen = Tip.of(last)
        old = self._surplus()
        if old:
            kept = tuple(found for number in old if (found := self._kept.keep(number)))
            mark = self._mark_before(old[-1] + 1)
            retired = _retired(mark, len(old), kept, self._kept.surplus())
            # Written down first: a segment that is missing without it was taken away.
            self._add(segment, Tip.of(last), [entry_of(retired)], file, key)
        else:
            segment.commit()
            file.write(self._seen, key)
        for number in old:
            for end_of_name in ("", "-wal", "-shm"):
                path = self._paths.segment(number)
                path.with_name(path.name + end_of_name).unlink(missing_ok=True)
        if old:
            self._kept.drop()

    def _surplus(self) -> list[int]:
        """The segments to give up: those that are too many, and old ones beyond the last few."""
        numbers = self._paths.segments()
        old = numbers[: -self._segments_kept]
        before = time.time() - _OLD_S
        for number in numbers[len(old) : -_FEWEST_KEPT]:
            if self._paths.segment(number).stat().st_mtime > before:
                break
            old.append(number)
        return old

    def _mark_before(self, number: int) -> AuditMark:
        with SegmentReader(self._paths.segment(number)) as reader:
            first = next(reader.rows())
        return AuditMark(seq=first.seq - 1, hash=first.prev.hex())

    def _after_damage(self, head: Head | None, key: AuditKey, damage: SegmentDamaged) -> Segment:
        """Leave a broken segment as it is, and go on in the next one."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        number = self._paths.segments()[-1]
        end = self._seen
        if head is not None and head.is_signed_by(key) and head.seq > end.seq:
            end = head.tip
        self._on_found(f"segment {number} of the audit log cannot be read: {damage}")
        segment = self._make(number + 1, end, key)
        last = segment.begin()
        note = Tampering(f"segment {number} could not be read: {damage}", end)
        segment.add(chained(Tip.of(last), [entry_of(_recovered(note))], key))
        segment.commit()
        return segment

    # Across processes

    @contextmanager
    def _locked(self) -> Generator[None]:
        path = self._paths.lock
        while True:
            if self._lock is None:
                make_private_folder(self._paths.folder)
                make_private_folder(self._paths.state)
                self._lock = open_private(path, os.O_RDWR | os.O_CREAT)
            handle = self._lock
            fcntl.flock(handle, fcntl.LOCK_EX)
            # Whoever made the folder anew locks another file of the same name.
            if _is_at(handle, path):
                break
            os.close(handle)
            self._lock = None
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)

    def _forget(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        self._key = None


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _recovered(tampering: Tampering) -> AuditRecord:
    mark = tampering.mark
    return AuditRecord(
        ts=stamp(),
        event="audit.recovered",
        pid=os.getpid(),
        note=tampering.says,
        mark=None if mark is None else AuditMark(seq=mark.seq, hash=mark.hash.hex()),
    )


def _retired(
    mark: AuditMark, count: int, kept: tuple[AuditKept, ...], kept_after: int
) -> AuditRecord:
    return AuditRecord(
        ts=stamp(),
        event="audit.retired",
        pid=os.getpid(),
        mark=mark,
        kept=kept,
        kept_after=kept_after,
        note=f"{count} segment(s) given up for size or age,"
        f" {sum(each.records for each in kept)} record(s) of them kept",
    )


def _readable(record: AuditRecord) -> AuditRecord:
    fields = {
        name: value.encode("utf-8", "backslashreplace").decode()
        for name, value in msgspec.structs.asdict(record).items()
        if isinstance(value, str)
    }
    return msgspec.structs.replace(record, **fields)
