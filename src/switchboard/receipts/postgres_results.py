"""Outcomes that nobody has got, in the database of a team: whichever gateway is asked has them."""

import threading
import time
from typing import Any

import msgspec
from msgspec import Raw

from switchboard.core.calls.receipts import KeptOutcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.receipts.result_files import CALL_ID, MOST_HEAD_BYTES

# What one team keeps.
MOST_RESULTS = 10_000
MOST_BYTES = 1024 * 1024 * 1024

_FIRST = """
CREATE TABLE results (
    id TEXT PRIMARY KEY,
    written_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    until DOUBLE PRECISION NOT NULL,
    size BIGINT NOT NULL,
    -- What is told of the call, as JSON, and what it answered.
    head BYTEA NOT NULL,
    result BYTEA NOT NULL
);
CREATE INDEX results_by_age ON results (written_at, id);
"""
RESULTS = Part("results", (_FIRST,))
_read = msgspec.json.Decoder(KeptOutcome).decode


class PostgresResults:
    """The `KeptResults` of a team. Threads and processes may share it."""

    def __init__(
        self,
        address: DatabaseAddress,
        *,
        most: int = MOST_RESULTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """It connects with the first who asks."""
        self.keep_s = 0.0
        self._address = address
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._database: PostgresDatabase | None = None

    def put(self, kept: KeptOutcome, /) -> bool:
        if self.keep_s <= 0 or not CALL_ID.fullmatch(kept.id):
            return False
        head = msgspec.json.encode(msgspec.structs.replace(kept, result=None))
        if len(head) > MOST_HEAD_BYTES:
            return False
        result = bytes(kept.result or b"")
        done = self._change(
            "INSERT INTO results (id, until, size, head, result) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET written_at = clock_timestamp(),"
            " until = excluded.until, size = excluded.size, head = excluded.head,"
            " result = excluded.result",
            *(kept.id, kept.until, len(head) + len(result), head, result),
        )
        if done != 1:
            return False
        self.tidy()
        return True

    def get(self, call_id: str, /) -> KeptOutcome | None:
        if not CALL_ID.fullmatch(call_id):
            return None
        rows = self._rows(
            "SELECT head, result FROM results WHERE id = ? AND until >= ?", call_id, time.time()
        )
        kept = _outcome(rows[0]["head"]) if rows else None
        if kept is None or not rows[0]["result"]:
            return kept
        return msgspec.structs.replace(kept, result=Raw(rows[0]["result"]))

    def drop(self, call_id: str, /) -> None:
        if CALL_ID.fullmatch(call_id):
            self._change("DELETE FROM results WHERE id = ?", call_id)

    def all(self) -> list[KeptOutcome]:
        self._change("DELETE FROM results WHERE until < ?", time.time())
        rows = self._rows("SELECT head FROM results ORDER BY written_at, id")
        return [kept for row in rows if (kept := _outcome(row["head"])) is not None]

    def tidy(self) -> int:
        self._change(
            "DELETE FROM results WHERE until < ?"
            " OR written_at < clock_timestamp() - make_interval(secs => ?)",
            *(time.time(), self.keep_s),
        )
        self._change(
            "DELETE FROM results WHERE id IN (SELECT id FROM (SELECT id,"
            " row_number() OVER newest AS place, sum(size) OVER newest AS total FROM results"
            " WINDOW newest AS (ORDER BY written_at DESC, id DESC)) AS counted"
            " WHERE place > ? OR total > ?)",
            *(self._most, self._most_bytes),
        )
        rows = self._rows("SELECT count(*) AS n FROM results")
        return rows[0]["n"] if rows else 0

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        try:
            with self._lock:
                return list(self._sql().rows(query, *values))
        except Fault:
            return []

    def _change(self, query: str, *values: Any) -> int:
        try:
            with self._lock:
                return self._sql().change(query, *values)
        except Fault:
            return 0

    def _sql(self) -> PostgresDatabase:
        if self._database is None:
            self._database = PostgresDatabase(self._address, RESULTS, failure=_away)
        return self._database


def _outcome(head: bytes) -> KeptOutcome | None:
    try:
        return _read(head)
    except msgspec.MsgspecError:
        # Of another version.
        return None


def _away(why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "results-unavailable",
        "nothing is kept now: the database cannot be used",
        hint="switchboard doctor --db",
        private=why,
    )
