"""Whether the log is whole: nothing changed, nothing taken away, nothing put in."""

import sqlite3
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from switchboard.audit.chain import NOTHING, START, Tip, hash_of
from switchboard.audit.database import SegmentDamaged
from switchboard.audit.head import Head, read_head
from switchboard.audit.kept.kept_check import KeptCheck, Vouching
from switchboard.audit.key import AuditKey, KeyUnusable, read_key
from switchboard.audit.paths import AuditPaths
from switchboard.audit.segment_reader import SegmentReader
from switchboard.core.audit import (
    AuditKept,
    AuditMark,
    AuditRow,
    FindingKind,
    Verification,
    VerificationFinding,
)
from switchkit.files import NotPrivate

_MOST_FINDINGS = 100
_LOOKS = 5
_WALKS = 5


class _Body(Struct):
    """What of a record has a meaning for the chain."""

    event: str
    correlation_id: str = ""
    note: str = ""
    mark: AuditMark | None = None
    kept: tuple[AuditKept, ...] = ()
    kept_after: int = 0


_read_body = msgspec.json.Decoder(_Body).decode


def verify(paths: AuditPaths, *, expect: AuditMark | None = None) -> Verification:
    """Walk through all of it. Others may write meanwhile.

    `expect` is a place that was noted elsewhere; the beginning of its hash will do.
    """
    walks = 0
    while True:
        walks += 1
        # The head first: records only become more, so none is missing for having looked late.
        key, head = _key_of(paths), _settled_head(paths)
        numbers = paths.segments()
        kept = paths.kept_files()
        found = _Walk(paths, key, head, expect).result(numbers, kept)
        # A segment that was made or given up meanwhile may explain what looks wrong.
        if (
            found.is_whole
            or walks == _WALKS
            or (paths.segments(), paths.kept_files()) == (numbers, kept)
        ):
            return found


class ChainWalk:
    """One pass over the records of a chain, wherever they lie."""

    def __init__(
        self,
        key: AuditKey | None,
        head: Head | None,
        expect: AuditMark | None,
        *,
        start: bytes = NOTHING,
    ) -> None:
        """`start` is what the first record holds on to."""
        self._start = start
        self._key = key
        self._head = head
        self._expect = expect
        self._findings: list[VerificationFinding] = []
        self._more = 0
        self._records = 0
        self._first = 0
        self._before = NOTHING
        self._end = START
        self._sealed = START
        self._retired: list[AuditMark] = []
        self._lost = 0
        self._head_is_met = False
        self._expected_is_met = False
        self._bad_seals = 0
        # Those that seals were made with, each once, in their order.
        self._secrets: list[int] = []
        self._vouching: list[Vouching] = []

    def see(self, row: AuditRow) -> None:
        """The next record, as it lies there."""
        if not self._records:
            self._first, self._before = row.seq, row.prev
        elif row.seq != self._end.seq + 1:
            gone = f"records {self._end.seq + 1} to {row.seq - 1} are gone"
            again = f"record {row.seq} comes after record {self._end.seq}"
            self._find("missing", row.seq, gone if row.seq > self._end.seq else again)
        elif row.prev != self._end.hash:
            self._find("replaced", row.seq, f"it does not follow record {row.seq - 1} as it is now")
        if row.hash != hash_of(row.seq, row.prev, row.body):
            self._find("edited", row.seq, "its content is not what was written")
        self._read(row)
        self._records += 1
        self._end = Tip.of(row)
        if row.seal is not None:
            self._seal(row)
        if self._head is not None and row.seq == self._head.seq:
            self._head_is_met = True
            if row.hash.hex() != self._head.hash:
                self._find("replaced", row.seq, "the head knows another record of this number")
        self._meet_expected(row)

    def _meet_expected(self, row: AuditRow) -> None:
        if self._expect is not None and row.seq == self._expect.seq:
            self._expected_is_met = row.hash.hex().startswith(self._expect.hash)

    def _read(self, row: AuditRow) -> None:
        try:
            body = _read_body(row.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            # The hash has told it already, unless it was written like this.
            return
        if body.correlation_id != row.call:
            self._find("edited", row.seq, "it is filed under another call")
        if body.event == "audit.recovered":
            self._find("recovered", row.seq, f"noticed when it was written: {body.note}")
        elif body.event == "audit.retired" and body.mark is not None:
            self._retired.append(body.mark)
            self._vouching.append(Vouching(row.seq, body.kept, body.kept_after))
        elif body.event == "audit.lost":
            self._lost += 1

    def _seal(self, row: AuditRow) -> None:
        seal = row.seal or b""
        if self._key is None:
            return
        secret = self._key.which_sealed(row.seq, row.hash, seal)
        if secret is not None:
            self._sealed = Tip.of(row)
            if self._secrets[-1:] != [secret]:
                if secret in self._secrets:
                    # Whoever has one that was given up could write on with it.
                    self._find(
                        "seal-invalid",
                        row.seq,
                        "its seal was made with a secret that an"
                        " earlier record had changed for another",
                    )
                self._secrets.append(secret)
            return
        self._bad_seals += 1
        if self._bad_seals == 1:
            self._find(
                "seal-invalid",
                row.seq,
                "its seal was not made with our key, or not for this record",
            )

    def judge(self) -> None:
        """That was the last one: whether it begins and ends where it should."""
        self._judge_start()
        self._judge_end()
        if self._bad_seals > 1:
            self._find(
                "seal-invalid", 0, f"in all, {self._bad_seals} seals were not made with our key"
            )

    def _judge_start(self) -> None:
        if not self._records or (self._first == 1 and self._before == self._start):
            return
        start = AuditMark(seq=self._first - 1, hash=self._before.hex())
        if start not in self._retired:
            self._find("missing", self._first, f"records 1 to {self._first - 1} are gone")

    def _judge_end(self) -> None:
        head, key, end = self._head, self._key, self._end
        if key is None:
            if self._records or head is not None:
                self._find("key-missing", 0, "the key is gone or unusable: no seal can be checked")
            return
        if head is None:
            self._find("head-missing", 0, "the head is gone: nobody knows where the log ended")
        elif not head.is_signed_by(key):
            self._find("head-forged", 0, "the head is not signed with our key")
        elif head.seq > end.seq:
            self._find(
                "truncated", end.seq + 1, f"records {end.seq + 1} to {head.seq} were cut off"
            )
        if end.seq > self._sealed.seq:
            self._find("unsealed", self._sealed.seq + 1, _unsealed(self._sealed, end))

    def _find(self, kind: FindingKind, seq: int, says: str) -> None:
        if len(self._findings) < _MOST_FINDINGS:
            self._findings.append(VerificationFinding(kind=kind, seq=seq, says=says))
        else:
            self._more += 1


class _Walk(ChainWalk):
    """One pass over every segment."""

    def __init__(
        self, paths: AuditPaths, key: AuditKey | None, head: Head | None, expect: AuditMark | None
    ) -> None:
        super().__init__(key, head, expect)
        self._paths = paths
        self._kept = KeptCheck()
        self._kept_records = 0

    def result(self, numbers: Sequence[int], kept: Sequence[int]) -> Verification:
        """Walk through these segments, and the files of kept records."""
        for number in kept:
            self._kept_file(number)
        for number in numbers:
            self._segment(number, is_full=number != numbers[-1])
        for finding in self._kept.findings(self._vouching, live=self._first):
            self._find(finding.kind, finding.seq, finding.says)
        self.judge()
        if self._expect is not None and not self._expected_is_met:
            self._find(
                "unexpected",
                self._expect.seq,
                "it does not have the hash that was noted elsewhere: the log was replaced by an"
                " older or another one",
            )
        ahead = 0
        if self._head is not None and self._head_is_met:
            ahead = self._end.seq - self._head.seq
        return Verification(
            records=self._records,
            segments=len(numbers),
            first=self._first,
            last=self._end.seq,
            hash=self._end.hash.hex() if self._records else "",
            ahead=ahead,
            lost=self._lost,
            kept=self._kept_records,
            findings=tuple(self._findings),
            more=self._more,
        )

    def _segment(self, number: int, *, is_full: bool) -> None:
        try:
            with SegmentReader(self._paths.segment(number)) as reader:
                for row in reader.rows():
                    self.see(row)
                for problem in reader.problems(is_full=is_full):
                    self._find("unguarded", 0, f"segment {number}: {problem}")
        except (SegmentDamaged, NotPrivate, OSError, sqlite3.Error) as error:
            self._find("unreadable", self._end.seq + 1, f"segment {number} cannot be read: {error}")

    def _kept_file(self, number: int) -> None:
        try:
            with SegmentReader(self._paths.kept(number)) as reader:
                for row in reader.rows():
                    self._kept.see(row)
                    self._kept_records += 1
                    self._read_kept(row)
                    self._meet_expected(row)
        except (SegmentDamaged, NotPrivate, OSError, sqlite3.Error) as error:
            self._find("unreadable", 0, f"file {number} of kept records cannot be read: {error}")

    def _read_kept(self, row: AuditRow) -> None:
        try:
            body = _read_body(row.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        if body.correlation_id != row.call:
            self._find("edited", row.seq, "it is filed under another call")
        if body.event == "audit.recovered":
            self._find("recovered", row.seq, f"noticed when it was written: {body.note}")
        elif body.event == "audit.retired":
            self._kept.vouch(Vouching(row.seq, body.kept, body.kept_after))


def _unsealed(sealed: Tip, end: Tip) -> str:
    return f"records {sealed.seq + 1} to {end.seq} were written by somebody without our key"


def _key_of(paths: AuditPaths) -> AuditKey | None:
    try:
        return read_key(paths)
    except (OSError, NotPrivate, KeyUnusable):
        return None


def _settled_head(paths: AuditPaths) -> Head | None:
    """The head; looked at again while it makes no sense, for it may just be written."""
    head = None
    for _ in range(_LOOKS):
        try:
            head = read_head(paths)
        except (OSError, NotPrivate):
            return None
        if head is None or head.seq >= 0:
            break
    return head
