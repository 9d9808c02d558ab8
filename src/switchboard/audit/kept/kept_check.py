"""Whether the kept records are all there, by what the log itself says of them."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.audit.chain import hash_of
from switchboard.audit.kept.kept_records import digest_of
from switchboard.core.audit import AuditKept, AuditRow, FindingKind, VerificationFinding

_HASH_BYTES = 32


class Vouching(Struct, frozen=True):
    """A record that segments were given up: what was kept of them, and what no longer is."""

    seq: int
    kept: tuple[AuditKept, ...]
    after: int


class KeptCheck:
    """Sees every kept record, oldest first, and then everything that vouches for them."""

    def __init__(self) -> None:
        # Only numbers and hashes: there may be very many.
        self._numbers = array("q")
        self._hashes = bytearray()
        self._edited: list[int] = []
        self._vouching: list[Vouching] = []

    def see(self, row: AuditRow) -> None:
        """The next one."""
        if row.hash != hash_of(row.seq, row.prev, row.body):
            self._edited.append(row.seq)
        self._numbers.append(row.seq)
        self._hashes += row.hash[:_HASH_BYTES].ljust(_HASH_BYTES, b"\0")

    def vouch(self, by: Vouching, /) -> None:
        """A kept record speaks of others. It is believed once something vouches for itself."""
        self._vouching.append(by)

    def findings(self, vouching: Sequence[Vouching], *, live: int) -> Iterator[VerificationFinding]:
        """What is wrong, by what the segments say. Those from `live` on are in segments as well."""
        for seq in self._edited:
            yield _finding("edited", seq, "its content is not what was written")
        marks = {mark for each in vouching for mark in each.kept}
        dropped = max((each.after for each in vouching), default=0)
        done: set[AuditKept] = set()
        known = 0
        # Newest first: whatever speaks of old ones is younger than they are.
        while todo := marks - done:
            mark = max(todo, key=lambda each: each.first)
            done.add(mark)
            if mark.last <= dropped or mark.first >= live:
                continue
            start = bisect_left(self._numbers, mark.first)
            end = bisect_right(self._numbers, mark.last)
            known += end - start
            if end - start != mark.records:
                says = f"of {mark.records} kept records up to {mark.last} {end - start} are there"
                yield _finding("missing", mark.first, says)
                continue
            hashes = self._hashes[start * _HASH_BYTES : end * _HASH_BYTES]
            if digest_of(bytes(hashes)) != mark.hash:
                says = f"kept records up to {mark.last} are not those that were written"
                yield _finding("replaced", mark.first, says)
                continue
            for each in self._vouching:
                if mark.first <= each.seq <= mark.last:
                    marks.update(each.kept)
                    dropped = max(dropped, each.after)
        there = bisect_left(self._numbers, live) - bisect_right(self._numbers, dropped)
        if there > known:
            says = f"{there - known} kept record(s) were written by somebody without our key"
            yield _finding("unsealed", 0, says)


def _finding(kind: FindingKind, seq: int, says: str) -> VerificationFinding:
    return VerificationFinding(kind=kind, seq=seq, says=says)
