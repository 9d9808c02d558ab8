"""Records as those get them who keep a copy elsewhere, and which of them are wanted."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec
from msgspec import Raw, Struct

from switchboard.audit.chain import Row
from switchboard.audit.reader import AuditReader
from switchboard.core.audit import AuditRecord

_read_record = msgspec.json.Decoder(AuditRecord).decode


class AuditLine(Struct, frozen=True, kw_only=True):
    """One record with its place. `record` is byte for byte what was hashed."""

    seq: int
    prev: str
    hash: str
    seal: str | None
    record: Raw


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Which records are wanted; an empty field wants all."""

    # `*` stands for any characters.
    tool: str = ""
    session: str = ""
    # The earliest time, as records write it.
    since: str = ""
    # A status, the code of a fault, or what an approval came to.
    outcome: str = ""

    def wants(self, record: AuditRecord) -> bool:
        """Whether a record is among them."""
        if self.tool and not (
            fnmatchcase(record.tool, self.tool) or fnmatchcase(record.via, self.tool)
        ):
            return False
        if self.session and record.session_id != self.session:
            return False
        if self.outcome and self.outcome != record.status:
            decided = record.approval is not None and record.approval.decision == self.outcome
            return decided and record.ts >= self.since
        return record.ts >= self.since


def record_in(row: Row) -> AuditRecord | None:
    """The record of a row, or nothing when somebody made nonsense of it."""
    try:
        return _read_record(row.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def exported(reader: AuditReader, wanted: AuditFilter) -> Iterator[AuditLine]:
    """Lines, oldest first. Without a filter they can be checked without Switchboard."""
    for row in reader.rows():
        record = record_in(row)
        if record is not None and wanted.wants(record):
            yield line_of(row)


def line_of(row: Row) -> AuditLine:
    """A row as a line."""
    return AuditLine(
        seq=row.seq,
        prev=row.prev.hex(),
        hash=row.hash.hex(),
        seal=None if row.seal is None else row.seal.hex(),
        record=Raw(row.body),
    )
