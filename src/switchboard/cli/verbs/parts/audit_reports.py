"""What `switchboard audit` answers."""

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct

from switchboard.audit.filter import record_in
from switchboard.cli.moments import local_time
from switchboard.cli.render import as_json, hint, warning
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.core.audit import AuditRecord, AuditRow, Verification
from switchkit.cli.columns import counted, visible
from switchkit.cli.style import Style

_HASH_SHOWN = 16
_GOOD = {"", "ok"}


class PlacedRecord(Struct, frozen=True, kw_only=True):
    """A record and its place. Without `record` somebody made nonsense of it."""

    seq: int
    hash: str
    record: AuditRecord | None

    @classmethod
    def of(cls, row: AuditRow) -> "PlacedRecord":
        """A row as reports show it."""
        return cls(seq=row.seq, hash=row.hash.hex(), record=record_in(row))

    def line(self, style: Style) -> str:
        """All of it that matters, in one line."""
        record = self.record
        if record is None:
            return f"{self.seq:>6}  {style.red('unreadable')}"
        status = record.status if record.status in _GOOD else style.red(visible(record.status))
        decision = record.approval.decision if record.approval is not None else ""
        named = {
            "tool": record.tool,
            "via": record.via,
            "status": status,
            "reason": record.reason,
            "approval": "" if decision == "not_required" else decision,
            "call": record.correlation_id,
            "session": record.session_id,
            "note": record.note,
        }
        rest = " ".join(
            f"{name}={value if name == 'status' else visible(value)}"
            for name, value in named.items()
            if value
        )
        at = style.dim(local_time(record.ts))
        return f"{self.seq:>6}  {at} {style.bold(visible(record.event))} {rest}"


class AuditReport(Report, frozen=True, kw_only=True, tag="switchboard.audit/1"):
    """The latest records, oldest first. `unreadable` says what had to be left out."""

    records: tuple[PlacedRecord, ...]
    unreadable: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        for record in self.records:
            yield record.line(style)

    def notes(self, style: Style) -> Iterator[str]:
        if not self.records and not self.unreadable:
            yield "no record matches"
        yield from _unreadable(self.unreadable, style)


class AuditRecordReport(Report, frozen=True, kw_only=True, tag="switchboard.audit-record/1"):
    """One record, when it is written."""

    one_of_many: ClassVar[bool] = True
    seq: int
    hash: str
    record: AuditRecord | None

    @classmethod
    def of(cls, placed: PlacedRecord) -> "AuditRecordReport":
        return cls(seq=placed.seq, hash=placed.hash, record=placed.record)

    def lines(self, style: Style) -> Iterator[str]:
        yield PlacedRecord(seq=self.seq, hash=self.hash, record=self.record).line(style)


class AuditShowReport(Report, frozen=True, kw_only=True, tag="switchboard.audit-show/1"):
    """Everything that is known of one call, or one record."""

    records: tuple[PlacedRecord, ...]
    unreadable: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        for at, placed in enumerate(self.records):
            if at:
                yield ""
            event = placed.record.event if placed.record is not None else "unreadable"
            yield f"{style.bold(visible(event))} {style.dim(f'record {placed.seq}')}"
            for name, value in _fields(placed.record):
                text = value if isinstance(value, str) else as_json(value)
                yield f"  {name}: {visible(text)}"
            yield f"  hash: {placed.hash}"

    def notes(self, style: Style) -> Iterator[str]:
        yield from _unreadable(self.unreadable, style)


class AuditFinding(Struct, frozen=True, kw_only=True):
    """What is wrong, and at which record; 0 is the log as a whole."""

    kind: str
    seq: int
    says: str


class AuditVerifyReport(Report, frozen=True, kw_only=True, tag="switchboard.audit-verify/1"):
    """Whether the log is whole. `ahead` counts records that the head does not know yet."""

    whole: bool
    records: int
    segments: int
    first: int
    last: int
    hash: str
    ahead: int
    lost: int
    findings: tuple[AuditFinding, ...]
    more: int

    @classmethod
    def of(cls, found: Verification) -> "AuditVerifyReport":
        findings = tuple(
            AuditFinding(kind=each.kind, seq=each.seq, says=each.says) for each in found.findings
        )
        return cls(
            whole=found.is_whole,
            records=found.records,
            segments=found.segments,
            first=found.first,
            last=found.last,
            hash=found.hash,
            ahead=found.ahead,
            lost=found.lost,
            findings=findings,
            more=found.more,
        )

    def exit_code(self) -> int:
        return DONE if self.whole else FAILED

    def lines(self, style: Style) -> Iterator[str]:
        for each in self.findings:
            where = f"record {each.seq}: " if each.seq else ""
            yield f"{style.red(each.kind)} {where}{visible(each.says)}"
        if self.more:
            yield f"and {self.more:,} more"
        if self.whole:
            about = f"{counted(self.records, 'record')} in {counted(self.segments, 'segment')}"
            yield f"{style.green('whole')}: {about}" + (f", up to {self.last}" if self.last else "")

    def notes(self, style: Style) -> Iterator[str]:
        if self.ahead:
            yield (
                f"{counted(self.ahead, 'record')} beyond the head: just written, or by a process"
                " that was killed before it came to the head; their seal is ours"
            )
        if not self.segments:
            yield "nothing has been written yet"
        if self.lost:
            yield warning(style, "some records found no room while the log could not be written")
        if self.whole and self.last:
            known = f"{self.last}:{self.hash[:_HASH_SHOWN]}"
            yield hint(
                style, f"note {known} elsewhere; later: switchboard audit verify --expect {known}"
            )


class AuditLineReport(Report, frozen=True, kw_only=True, tag="switchboard.audit-line/1"):
    """One record of an export; `record` is byte for byte what was hashed."""

    one_of_many: ClassVar[bool] = True
    seq: int
    prev: str
    hash: str
    seal: str | None
    record: Raw

    @classmethod
    def of(cls, row: AuditRow) -> "AuditLineReport":
        return cls(
            seq=row.seq,
            prev=row.prev.hex(),
            hash=row.hash.hex(),
            seal=None if row.seal is None else row.seal.hex(),
            record=Raw(row.body),
        )

    def lines(self, style: Style) -> Iterator[str]:
        # An export is data for other programs, asked for as JSON or not.
        del style
        yield msgspec.json.encode(self).decode()


class AuditExportReport(Report, frozen=True, kw_only=True, tag="switchboard.audit-export/1"):
    """What was written to a file."""

    path: str
    records: int
    unreadable: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield f"{counted(self.records, 'record')} written to {self.path}"

    def notes(self, style: Style) -> Iterator[str]:
        yield from _unreadable(self.unreadable, style)


def _fields(record: AuditRecord | None) -> Iterator[tuple[str, Any]]:
    if record is not None:
        for name, value in msgspec.to_builtins(record).items():
            if name != "event":
                yield name, value


def _unreadable(told: tuple[str, ...], style: Style) -> Iterator[str]:
    for text in told:
        yield warning(style, text)
    if told:
        yield hint(style, "switchboard audit verify")
