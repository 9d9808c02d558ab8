"""Detects tampering: records, head and the writer's own memory do not fit together."""

from collections.abc import Callable

from msgspec import Struct

from switchboard.audit.chain import Tip
from switchboard.audit.head import Head
from switchboard.audit.key import AuditKey
from switchboard.core.audit import AuditRow


class Tampering(Struct, frozen=True):
    """A sign that somebody else changed the log."""

    says: str
    # Where the log once ended, when that is known.
    mark: Tip | None = None


def check_tampering(
    last: AuditRow,
    head: Head | None,
    seen: Tip,
    key: AuditKey,
    row: Callable[[int], AuditRow | None],
) -> Tampering | None:
    """Compare the last row with the head and with what this process saw.

    A head that lags is no reason: whoever wrote the rows was killed before it came to the head.
    Their seal tells them from rows that somebody else has put there.
    """
    if head is None:
        # It is made together with the key, before the first record.
        return Tampering("the head is gone", seen if seen.seq else None)
    if not head.is_signed_by(key):
        return Tampering("the head is not signed with our key", seen if seen.seq else None)
    for known, whose in ((head.tip, "the head"), (seen, "this process")):
        if known.seq > last.seq:
            return Tampering(
                f"records {last.seq + 1} to {known.seq}, known to {whose}, were cut off", known
            )
        found = last if known.seq == last.seq else row(known.seq)
        # Nothing, if it is in an older segment.
        if found is not None and known.seq and found.hash != known.hash:
            return Tampering(f"record {known.seq}, known to {whose}, was replaced", known)
    if last.seal is None or key.which_sealed(last.seq, last.hash, last.seal) is None:
        return Tampering(f"record {last.seq} has no seal of ours", None)
    return None
