"""One chain in PostgreSQL as its writer sees it: a group of records is one transaction.

The head is part of it, so it neither lags nor leads. Its row is locked first: should two processes
write to one chain, they do so one after the other.
"""

import os
import time
from collections.abc import Callable, Sequence

from switchboard.audit.chain import Entry, Tip, chained
from switchboard.audit.errors import LogAway
from switchboard.audit.head import Head
from switchboard.audit.key import AuditKey
from switchboard.audit.log import entry_of
from switchboard.audit.postgres.tables import (
    AUDIT,
    head_of,
    insert_rows,
    move_head,
    row_of,
    start_of,
)
from switchboard.audit.tamper_check import Tampering, check_tampering
from switchboard.core.audit import AuditAnchor, AuditMark, AuditRecord, AuditRow
from switchboard.core.text.stamps import stamp
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import PostgresDatabase

ANCHOR_S = 60.0
_FIELDS = "seq, number, call, body, prev, hash, seal"


class ChainLog:
    """Writes groups to one chain. Used by one thread."""

    def __init__(
        self,
        address: DatabaseAddress,
        chain: str,
        key: AuditKey,
        *,
        anchor_s: float = ANCHOR_S,
        on_found: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._address = address
        self._chain = chain
        self._key = key
        self._anchor_s = anchor_s
        self._on_found = on_found
        self._database: PostgresDatabase | None = None
        # What this process itself saw as the end. It outlives a database that was put back.
        self._seen = start_of(chain)
        # A group of which nobody knows whether it was committed, and where it would end.
        self._doubtful: tuple[Tip, tuple[Entry, ...]] | None = None
        self._anchored: dict[str, int] = {}
        self._anchored_at = time.monotonic()

    def write(self, entries: Sequence[Entry]) -> None:
        """Write a group. Raises `LogAway`."""
        if self._database is None:
            self._database = PostgresDatabase(self._address, AUDIT, failure=LogAway)
        database = self._database
        anchors = self._due_anchors(database)
        with database.transaction():
            head, last = self._end(database)
            entries = self._undoubted(database, entries)
            notes = self._notes(database, head, last)
            anchoring = [_anchored(anchors)] if anchors else []
            group = [*map(entry_of, notes), *entries, *map(entry_of, anchoring)]
            if not group:
                return
            rows = chained(Tip.of(last), group, self._key)
            end = Tip.of(rows[-1])
            insert_rows(database, self._chain, rows)
            move_head(database, self._chain, end, self._key, said=end.seq - len(anchoring))
            self._doubtful = (end, tuple(entries))
        self._doubtful = None
        self._seen = end
        self._anchored |= {each.chain: each.seq for each in anchors}

    def idle(self) -> None:
        """Write down where the other chains end, if they have gone on. Raises `LogAway`."""
        if time.monotonic() - self._anchored_at >= self._anchor_s:
            self.write([])

    def close(self) -> None:
        """Let go of the connection."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _end(self, database: PostgresDatabase) -> tuple[Head | None, AuditRow]:
        """The head, which is locked from now on, and the last record."""
        heads = database.rows("SELECT * FROM audit_heads WHERE chain = ? FOR UPDATE", self._chain)
        rows = database.rows(
            f"SELECT {_FIELDS} FROM audit_records WHERE chain = ?"  # noqa: S608 - constants
            " ORDER BY seq DESC LIMIT 1",
            self._chain,
        )
        start = start_of(self._chain)
        if rows:
            last = row_of(rows[0], number=False)
        else:
            # As if a record came before the first, with everything that is checked of one.
            seal = self._key.seal(start.seq, start.hash)
            last = AuditRow(start.seq, "", b"", b"", start.hash, seal)
        if heads:
            return head_of(heads[0]), last
        if rows or self._seen.seq:
            return None, last
        # The first time; another process of this chain may be about to do the same.
        database.change(
            "INSERT INTO audit_heads (chain, seq, hash, signature) VALUES (?, ?, ?, ?)",
            *(self._chain, start.seq, start.hash, self._key.sign_head(start.seq, start.hash)),
        )
        return Head(
            start.seq, start.hash.hex(), self._key.sign_head(start.seq, start.hash).hex()
        ), last

    def _undoubted(self, database: PostgresDatabase, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Those that are not there already: a commit may be done whose answer was lost."""
        if self._doubtful is None:
            return entries
        end, doubtful = self._doubtful
        found = database.rows(
            "SELECT hash FROM audit_records WHERE chain = ? AND seq = ?", self._chain, end.seq
        )
        self._doubtful = None
        if not found or found[0]["hash"] != end.hash:
            return entries
        self._seen = end
        # The same object: two records may well say the same.
        written = {id(entry) for entry in doubtful}
        return [entry for entry in entries if id(entry) not in written]

    def _notes(
        self, database: PostgresDatabase, head: Head | None, last: AuditRow
    ) -> list[AuditRecord]:
        """What is to be said before anything else."""

        def row(seq: int) -> AuditRow | None:
            found = database.rows(
                f"SELECT {_FIELDS} FROM audit_records"  # noqa: S608 - constants
                " WHERE chain = ? AND seq = ?",
                *(self._chain, seq),
            )
            return row_of(found[0], number=False) if found else None

        found = check_tampering(last, head, self._seen, self._key, row)
        if found is not None:
            self._on_found(found.says)
            return [_recovered(found)]
        if not last.seq:
            note = f"chain {self._chain}"
            return [AuditRecord(ts=stamp(), event="audit.opened", pid=os.getpid(), note=note)]
        return []

    def _due_anchors(self, database: PostgresDatabase) -> tuple[AuditAnchor, ...]:
        """Where the other chains end, of those that have said something since."""
        if time.monotonic() - self._anchored_at < self._anchor_s:
            return ()
        self._anchored_at = time.monotonic()
        heads = database.rows(
            "SELECT * FROM audit_heads WHERE chain != ? AND seq > 0"
            " AND changed_at > now() - interval '1 day' ORDER BY chain",
            self._chain,
        )
        return tuple(
            AuditAnchor(chain=head["chain"], seq=head["seq"], hash=head["hash"].hex())
            for head in heads
            if head["said"] > self._anchored.get(head["chain"], 0)
            # What nobody with the key has said is not vouched for.
            and head_of(head).is_signed_by(self._key)
        )


def _anchored(anchors: tuple[AuditAnchor, ...]) -> AuditRecord:
    return AuditRecord(ts=stamp(), event="audit.anchored", pid=os.getpid(), anchors=anchors)


def _recovered(tampering: Tampering) -> AuditRecord:
    mark = tampering.mark
    return AuditRecord(
        ts=stamp(),
        event="audit.recovered",
        pid=os.getpid(),
        note=tampering.says,
        mark=None if mark is None else AuditMark(seq=mark.seq, hash=mark.hash.hex()),
    )
