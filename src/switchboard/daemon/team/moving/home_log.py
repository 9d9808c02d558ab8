"""The audit log of a home as a chain of its own in the log of a team.

Records keep their bytes and their order. They get new numbers, hashes and seals: those of the team,
bound to the name of the chain. A record before them says where the log of the home ended.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from switchboard.audit.chain import Entry, Tip, chained
from switchboard.audit.filter import record_in
from switchboard.audit.key import AuditKey, KeyUnusable, read_key
from switchboard.audit.log import entry_of
from switchboard.audit.paths import AuditPaths
from switchboard.audit.postgres.chains_check import chain_findings
from switchboard.audit.postgres.tables import insert_rows, move_head, row_of, start_of
from switchboard.audit.reader import AuditReader
from switchboard.audit.verify import verify
from switchboard.core.audit import AuditMark, AuditRecord, AuditRow
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.text.stamps import stamp
from switchboard.daemon.team.moving.moved import MovedKind, differs, unverified
from switchboard.postgres.database import PostgresDatabase
from switchkit.files import NotPrivate

MOVED = "audit.moved"
_AT_ONCE = 500
# What was noticed and written down at the time is no reason to leave the log behind.
_TOLERATED = frozenset({"recovered"})


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...


class HomeLog(Struct, frozen=True):
    """The log of a home that was found whole."""

    paths: AuditPaths
    chain: str
    end: AuditMark

    def rows(self) -> Iterator[AuditRow]:
        """Every record, oldest first. Raises a fault where one cannot be read."""
        return AuditReader(self.paths, tell=_raise_unreadable).rows()


def find_log(home: str) -> HomeLog | None:
    """The log of a home, or nothing where there is none. Raises a fault unless it is whole."""
    paths = AuditPaths(Path(home))
    if not paths.segments():
        return None
    found = verify(paths)
    wrong = [each for each in found.findings if each.kind not in _TOLERATED]
    if wrong or found.more:
        raise _not_whole(wrong[0].says if wrong else "there is much to find")
    try:
        key = read_key(paths)
    except (OSError, NotPrivate, KeyUnusable):
        raise _not_whole("its key cannot be read") from None
    return HomeLog(
        paths,
        # The same home has the same chain, wherever it lies and whatever its machine is called.
        f"home-{key.fingerprint(b'switchboard.audit.home/1')[:16]}",
        AuditMark(seq=found.last, hash=found.hash),
    )


def write_log(sql: PostgresDatabase, log: HomeLog, key: AuditKey) -> MovedKind:
    """Let the chain of a home hold its records; inside a transaction. Raises a fault.

    What is there of it already must be the beginning of them.
    """
    source = log.rows()
    digest, before = sha256(), 0
    for row in _moved(sql, log.chain):
        own = next(source, None)
        if own is None or (own.call, own.body) != (row.call, row.body):
            raise differs("audit", [log.chain], at_home=False)
        _add(digest, row)
        before += 1
    end, added = _end(sql, log.chain), 0
    note = [entry_of(_note(log))]
    while some := list(islice(source, _AT_ONCE)):
        group = [*note, *(Entry(row.call, row.body) for row in some)]
        note = []
        rows = chained(end, group, key)
        insert_rows(sql, log.chain, rows)
        end = Tip.of(rows[-1])
        added += len(some)
        for row in some:
            _add(digest, row)
    if added:
        move_head(sql, log.chain, end, key, said=end.seq)
    _verify(sql, log, key, digest.hexdigest(), before + added)
    return MovedKind(
        kind="audit",
        count=before + added,
        added=added,
        digest=digest.hexdigest(),
        chain=log.chain,
    )


def _verify(sql: PostgresDatabase, log: HomeLog, key: AuditKey, digest: str, count: int) -> None:
    """Read back what is in the chain now, and walk through it as `audit verify` does."""
    there, found = sha256(), 0
    for row in _moved(sql, log.chain):
        _add(there, row)
        found += 1
    kinds = {each.kind for each in chain_findings(sql, key, log.chain)}
    if (there.hexdigest(), found) != (digest, count) or kinds - _TOLERATED:
        raise unverified("audit")


def _moved(sql: PostgresDatabase, chain: str) -> Iterator[AuditRow]:
    """The records of a home in its chain, without what was said of their move."""
    seq = 0
    while rows := sql.rows(
        "SELECT * FROM audit_records WHERE chain = ? AND seq > ? ORDER BY seq LIMIT ?",
        *(chain, seq, _AT_ONCE),
    ):
        seq = rows[-1]["seq"]
        for found in rows:
            row = row_of(found, number=False)
            record = record_in(row) if MOVED.encode() in row.body else None
            if record is None or record.event != MOVED:
                yield row


def _end(sql: PostgresDatabase, chain: str) -> Tip:
    rows = sql.rows("SELECT * FROM audit_records WHERE chain = ? ORDER BY seq DESC LIMIT 1", chain)
    return Tip.of(row_of(rows[0], number=False)) if rows else start_of(chain)


def _add(digest: _Digest, row: AuditRow) -> None:
    for part in (row.call.encode(), row.body):
        digest.update(len(part).to_bytes(8, "big") + part)


def _note(log: HomeLog) -> AuditRecord:
    return AuditRecord(
        ts=stamp(),
        event=MOVED,
        pid=os.getpid(),
        mark=log.end,
        note=f"what follows is from the log of a home, which ended with record {log.end.seq}",
    )


def _raise_unreadable(why: str) -> None:
    raise _not_whole(why)


def _not_whole(why: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "audit-not-whole",
        f"the audit log of this home is not whole, so nothing was moved: {why}",
        hint="switchboard audit verify; to move the rest, name it: --only pins --only rules"
        " --only secrets",
    )
