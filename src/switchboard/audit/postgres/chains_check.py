"""Whether the log of a team is whole: each chain by itself, and all of them by each other."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from switchboard.audit.head import Head
from switchboard.audit.key import AuditKey
from switchboard.audit.postgres.tables import GUARDS, head_of, row_of, start_of
from switchboard.audit.verify import ChainWalk
from switchboard.core.audit import (
    AuditAnchor,
    AuditMark,
    AuditRow,
    FindingKind,
    Verification,
    VerificationFinding,
)
from switchboard.core.sql import SqlRow
from switchboard.postgres.database import PostgresDatabase

_AT_ONCE = 1_000
_MOST_FINDINGS = 100


class _Anchors(Struct):
    event: str
    anchors: tuple[AuditAnchor, ...] = ()


_read_anchors = msgspec.json.Decoder(_Anchors).decode


class _Anchored(Struct, frozen=True):
    """That one chain vouches for a place in another."""

    by: str
    anchor: AuditAnchor


class _TeamWalk(ChainWalk):
    """One pass over one chain, which also collects what it says of others."""

    def __init__(self, key: AuditKey, head: Head | None, chain: str) -> None:
        super().__init__(key, head, None, start=start_of(chain).hash)
        self._chain = chain
        self._number = 0
        self.anchors: list[_Anchored] = []

    def see_numbered(self, row: AuditRow, number: int) -> None:
        """The next record, and its number over all chains."""
        if number <= self._number:
            self._find("replaced", row.seq, "it is shown before the record that it follows")
        self._number = number
        self.see(row)
        if b"audit.anchored" not in row.body:
            return
        try:
            found = _read_anchors(row.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        if found.event == "audit.anchored":
            self.anchors += (_Anchored(self._chain, each) for each in found.anchors)

    @property
    def records(self) -> int:
        return self._records

    @property
    def lost(self) -> int:
        return self._lost

    @property
    def more(self) -> int:
        return self._more

    def findings(self) -> Iterator[VerificationFinding]:
        """What is wrong, with the name of the chain."""
        for each in self._findings:
            yield VerificationFinding(
                kind=each.kind, seq=each.seq, says=f"chain {self._chain}: {each.says}"
            )


def verify_chains(
    database: PostgresDatabase, key: AuditKey, *, expect: AuditMark | None
) -> Verification:
    """Walk through all of them. Others may write meanwhile.

    Raises what the database fails with. `expect` is the number of a record over all chains, and
    its hash or the beginning of it.
    """
    # The ends first: records only become more, so none is missing for having looked late.
    ends = database.rows("SELECT number, hash FROM audit_records ORDER BY number DESC LIMIT 1")
    starts = database.rows("SELECT number FROM audit_records ORDER BY number LIMIT 1")
    heads = {row["chain"]: row for row in database.rows("SELECT * FROM audit_heads")}
    chains = database.rows(
        "SELECT chain FROM audit_heads UNION SELECT DISTINCT chain FROM audit_records ORDER BY 1"
    )
    walks = [_walk(database, key, row["chain"], heads.get(row["chain"])) for row in chains]
    findings = [each for walk in walks for each in walk.findings()]
    findings += _broken_anchors(database, [each for walk in walks for each in walk.anchors])
    findings += _missing_guards(database)
    findings += _unexpected(database, expect)
    return Verification(
        records=sum(walk.records for walk in walks),
        segments=len(walks),
        first=starts[0]["number"] if starts else 0,
        last=ends[0]["number"] if ends else 0,
        hash=ends[0]["hash"].hex() if ends else "",
        lost=sum(walk.lost for walk in walks),
        findings=tuple(findings[:_MOST_FINDINGS]),
        more=sum(walk.more for walk in walks) + max(len(findings) - _MOST_FINDINGS, 0),
    )


def chain_findings(
    database: PostgresDatabase, key: AuditKey, chain: str
) -> tuple[VerificationFinding, ...]:
    """What is wrong with one chain by itself. Raises what the database fails with."""
    heads = database.rows("SELECT * FROM audit_heads WHERE chain = ?", chain)
    return tuple(_walk(database, key, chain, heads[0] if heads else None).findings())


def _walk(database: PostgresDatabase, key: AuditKey, chain: str, head: SqlRow | None) -> _TeamWalk:
    walk = _TeamWalk(key, None if head is None else head_of(head), chain)
    seq = -1
    while True:
        rows = database.rows(
            "SELECT * FROM audit_records WHERE chain = ? AND seq > ? ORDER BY seq LIMIT ?",
            *(chain, seq, _AT_ONCE),
        )
        for row in rows:
            walk.see_numbered(row_of(row, number=False), row["number"])
        # A group is committed whole, so the last page ends with a seal.
        if len(rows) < _AT_ONCE:
            walk.judge()
            return walk
        seq = rows[-1]["seq"]


def _broken_anchors(
    database: PostgresDatabase, anchored: list[_Anchored]
) -> Iterator[VerificationFinding]:
    for start in range(0, len(anchored), _AT_ONCE):
        some = anchored[start : start + _AT_ONCE]
        rows = database.rows(
            "SELECT wanted.n, found.hash FROM unnest(?::text[], ?::bigint[], ?::int[])"
            " AS wanted (chain, seq, n) LEFT JOIN audit_records AS found"
            " ON found.chain = wanted.chain AND found.seq = wanted.seq ORDER BY wanted.n",
            [each.anchor.chain for each in some],
            [each.anchor.seq for each in some],
            list(range(len(some))),
        )
        for row in rows:
            place: int = row["n"]
            by, anchor = some[place].by, some[place].anchor
            if row["hash"] is not None and row["hash"].hex() == anchor.hash:
                continue
            kind: FindingKind = "truncated" if row["hash"] is None else "replaced"
            what = "is gone" if row["hash"] is None else "is another one"
            yield VerificationFinding(
                kind=kind,
                seq=anchor.seq,
                says=f"chain {anchor.chain}: record {anchor.seq}, which chain {by} saw, {what}",
            )


def _missing_guards(database: PostgresDatabase) -> Iterator[VerificationFinding]:
    rows = database.rows(
        "SELECT tgname FROM pg_trigger WHERE tgrelid = 'audit_records'::regclass"
        " AND tgenabled = 'O'"
    )
    for name in sorted(GUARDS - {row["tgname"] for row in rows}):
        yield VerificationFinding(kind="unguarded", seq=0, says=f"the trigger {name} is not there")


def _unexpected(
    database: PostgresDatabase, expect: AuditMark | None
) -> Iterator[VerificationFinding]:
    if expect is None:
        return
    rows = database.rows("SELECT hash FROM audit_records WHERE number = ?", expect.seq)
    if not rows or not rows[0]["hash"].hex().startswith(expect.hash):
        yield VerificationFinding(
            kind="unexpected",
            seq=expect.seq,
            says="it does not have the hash that was noted elsewhere: the log was replaced by an"
            " older or another one",
        )
