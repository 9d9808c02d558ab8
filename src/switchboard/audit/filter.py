"""Which records somebody wants to see, and how a record is read from its row."""

from fnmatch import fnmatchcase

import msgspec
from msgspec import Struct

from switchboard.core.audit import AuditRecord, AuditRow

_read_record = msgspec.json.Decoder(AuditRecord).decode


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


def record_in(row: AuditRow) -> AuditRecord | None:
    """The record of a row, or nothing when somebody made nonsense of it."""
    try:
        return _read_record(row.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
