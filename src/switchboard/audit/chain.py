"""How each record holds on to the one before it.

`hash` is over the number of the record, the hash of the record before, and the bytes of its body.
Whoever has the records can check it. The last record of each group also has a `seal`, which only
the holder of the key can make: a chain that was computed anew has none.
"""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from switchboard.audit.key import AuditKey
from switchboard.core.audit import AuditRow

NOTHING = bytes(32)
_DOMAIN = b"switchboard.audit/1\n"


class Tip(Struct, frozen=True):
    """The end of a chain: the number of its last record, and that record's hash."""

    seq: int
    hash: bytes

    @classmethod
    def of(cls, row: AuditRow) -> "Tip":
        """The end of a chain whose last record this is."""
        return cls(row.seq, row.hash)


START = Tip(0, NOTHING)


class Entry(Struct, frozen=True):
    """The body of a record that has no place in the chain yet, and the call that it is about."""

    call: str
    body: bytes


def hash_of(seq: int, prev: bytes, body: bytes) -> bytes:
    """The hash of a record."""
    return sha256(_DOMAIN + seq.to_bytes(8, "big") + prev + body).digest()


def chained(end: Tip, entries: Sequence[Entry], key: AuditKey) -> list[AuditRow]:
    """The rows of one group, the last one sealed."""
    rows: list[AuditRow] = []
    prev = end.hash
    for seq, entry in enumerate(entries, end.seq + 1):
        found = hash_of(seq, prev, entry.body)
        rows.append(AuditRow(seq, entry.call, entry.body, prev, found))
        prev = found
    last = rows[-1]
    rows[-1] = replace(last, seal=key.seal(last.seq, last.hash))
    return rows
