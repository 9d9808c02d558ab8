"""The log of a team as calls are counted from it."""

from collections.abc import Iterator

from switchboard.audit.postgres.tables import AUDIT, row_of, unreadable
from switchboard.core.audit import AuditRow
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import PostgresDatabase

_AT_ONCE = 1_000


class TeamCountedLog:
    """A `CountedLog` over all chains. It blocks; raises a fault."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._sql: PostgresDatabase | None = None

    def last(self) -> int | None:
        # Behind it no transaction is under way that could still write a lower number.
        rows = self._open().rows(
            "SELECT max(number) AS number FROM audit_records"
            " WHERE written < pg_snapshot_xmin(pg_current_snapshot())"
        )
        return rows[0]["number"]

    def rows(self, after: int, /) -> Iterator[AuditRow]:
        while True:
            rows = self._open().rows(
                "SELECT * FROM audit_records WHERE number > ?"
                " AND position('tool.call.finished'::bytea in body) > 0 ORDER BY number LIMIT ?",
                *(after, _AT_ONCE),
            )
            yield from (row_of(row, number=True) for row in rows)
            if len(rows) < _AT_ONCE:
                return
            after = rows[-1]["number"]

    def close(self) -> None:
        """Let go of the connection."""
        if self._sql is not None:
            self._sql.close()
            self._sql = None

    def _open(self) -> PostgresDatabase:
        if self._sql is None:
            self._sql = PostgresDatabase(self._address, AUDIT, failure=unreadable)
        return self._sql
