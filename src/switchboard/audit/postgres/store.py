"""The audit log of a team behind its port: one chain is written here, and all of them are read."""

from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

from switchboard.audit.key import AuditKey
from switchboard.audit.postgres.chain_log import ANCHOR_S, ChainLog
from switchboard.audit.postgres.chains_check import verify_chains
from switchboard.audit.postgres.tables import AUDIT, row_of, unreadable
from switchboard.audit.writer import GroupLog, GroupWriter, Told
from switchboard.core.audit import AuditMark, AuditRow, Verification
from switchboard.core.faults import Fault
from switchboard.core.loop.worker_thread import WorkerThread
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import PostgresDatabase

# Rows that are read at once.
_AT_ONCE = 256
# Of a number that a database takes.
_MOST_DIGITS = 18
# What was written by no transaction that there can have been here came with a backup.
_ONWARDS = (
    "SELECT * FROM audit_records WHERE number > ? AND number < ?"
    " AND (? OR written < pg_snapshot_xmin(pg_current_snapshot())"
    " OR written >= pg_snapshot_xmax(pg_current_snapshot())) ORDER BY number"
)


def _ignore(_: object) -> None:
    """For those who do not want to be told."""


class PostgresAudit(GroupWriter):
    """The `AuditStore` of a team. Each replica writes a chain of its own, under one key.

    The number of a record is over all chains. Whoever reads on from a number, or from the end,
    gets no record before all that come before it are there; that may take a moment while other
    transactions are under way.
    """

    def __init__(
        self,
        address: DatabaseAddress,
        chain: str,
        key: AuditKey,
        *,
        tell: Callable[[Told], None] = _ignore,
        anchor_s: float = ANCHOR_S,
    ) -> None:
        self._address = address
        self._chain = chain
        self._chain_key = key
        self._anchor_s = anchor_s
        super().__init__(tell=tell, idle_s=anchor_s)
        self._key = key
        self._reading = WorkerThread("audit-read")
        self._reader: PostgresDatabase | None = None

    def _opened(self) -> GroupLog:
        return ChainLog(
            self._address,
            self._chain,
            self._chain_key,
            anchor_s=self._anchor_s,
            on_found=self._found,
        )

    def _found_key(self) -> AuditKey:
        return self._chain_key

    async def read(
        self,
        *,
        after: int = 0,
        newest_first: bool = False,
        tell: Callable[[str], None] = _ignore,
    ) -> AsyncGenerator[AuditRow]:
        del tell  # what cannot be read is a fault
        await self._write_posted()
        low, high = after, 2**62
        is_whole = not after and not newest_first
        query = f"{_ONWARDS}{' DESC' if newest_first else ''} LIMIT {_AT_ONCE}"
        while rows := await self._ask(query, low, high, is_whole):
            for row in rows:
                yield row
            if newest_first:
                high = rows[-1].seq
            else:
                low = rows[-1].seq

    async def find(self, which: str, /, *, tell: Callable[[str], None] = _ignore) -> list[AuditRow]:
        del tell
        await self._write_posted()
        if "\0" in which or not which:
            return []
        rows = await self._ask("SELECT * FROM audit_records WHERE call = ? ORDER BY number", which)
        if not rows and which.isascii() and which.isdecimal() and len(which) <= _MOST_DIGITS:
            rows = await self._ask("SELECT * FROM audit_records WHERE number = ?", int(which))
        return rows

    def chain_of(self, number: int) -> str:
        """The chain that a record lies in; empty where it is not there. It blocks."""
        sql = PostgresDatabase(self._address, AUDIT, failure=unreadable)
        try:
            rows = sql.rows("SELECT chain FROM audit_records WHERE number = ?", number)
        finally:
            sql.close()
        return rows[0]["chain"] if rows else ""

    async def verify(self, *, expect: AuditMark | None = None) -> Verification:
        await self._write_posted()
        return await self._reading.run(
            lambda: verify_chains(self._open_reader(), self._chain_key, expect=expect)
        )

    async def aclose(self) -> None:
        # Closing waits for the database, so it is done where the loop does not wait with it.
        await self._reading.aclose(self._close_all)

    async def _ask(self, query: str, *values: object) -> list[AuditRow]:
        return await self._reading.run(
            lambda: [row_of(row, number=True) for row in self._open_reader().rows(query, *values)]
        )

    async def _write_posted(self) -> None:
        """Whoever was told that a call has ended finds its record, also one that is only posted."""
        if self._thread.is_alive():
            # A log that cannot be written can still be read.
            with suppress(Fault):
                await self.flush()

    # On the thread that reads

    def _open_reader(self) -> PostgresDatabase:
        if self._reader is None:
            self._reader = PostgresDatabase(self._address, AUDIT, failure=unreadable)
        return self._reader

    def _close_all(self) -> None:
        self.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None
