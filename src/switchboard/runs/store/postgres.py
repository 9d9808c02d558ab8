"""Runs in PostgreSQL: one table for all gateways and workers of a team."""

import time
from collections.abc import Callable

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sql import Sql
from switchboard.core.stores import Owners
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.runs.run import Run
from switchboard.runs.store.run_table import RunTable, readable_run
from switchboard.runs.store.table_runs import OpenRuns, TableRuns

# What the driver calls it, whatever the language of the server.
_FULL = "DiskFull"
_FIRST = """
CREATE TABLE runs (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL,
    request_key TEXT NOT NULL,
    may_write INTEGER NOT NULL CHECK (may_write IN (0, 1)),
    state TEXT NOT NULL
        CHECK (state IN ('queued', 'working', 'asking', 'completed', 'failed', 'cancelled')),
    is_delivered INTEGER NOT NULL CHECK (is_delivered IN (0, 1)),
    created_at DOUBLE PRECISION NOT NULL,
    ended_at DOUBLE PRECISION NOT NULL,
    owner TEXT NOT NULL,
    is_unwanted INTEGER NOT NULL DEFAULT 0 CHECK (is_unwanted IN (0, 1)),
    run BYTEA NOT NULL,
    events BIGINT NOT NULL DEFAULT 0,
    bytes BIGINT NOT NULL DEFAULT 0,
    is_cut INTEGER NOT NULL DEFAULT 0 CHECK (is_cut IN (0, 1)),
    -- Of the run as JSON: a file is searched inside it, a large table is not.
    thread_id TEXT NOT NULL DEFAULT '',
    resumes TEXT NOT NULL DEFAULT '',
    conversation TEXT NOT NULL DEFAULT '',
    replies_to TEXT NOT NULL DEFAULT ''
);
CREATE INDEX runs_unfinished ON runs (state) WHERE state IN ('queued', 'working', 'asking');
CREATE INDEX runs_by_workspace ON runs (workspace, number);
CREATE INDEX runs_by_request ON runs (request_key) WHERE is_delivered = 0 AND request_key != '';
CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at > 0;
CREATE INDEX runs_by_thread ON runs (workspace, thread_id) WHERE thread_id != '';
CREATE TABLE events (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
);
"""
RUNS = Part("runs", (_FIRST,))


class TeamRunTable(RunTable):
    """The table of runs, with columns for what is searched inside a run."""

    def __init__(self, database: Sql, owners: Owners, *, clock: Callable[[], float]) -> None:
        super().__init__(database, owners, clock=clock)
        self._sql = database

    def last_of_thread(self, workspace: str, thread_id: str, /) -> Run | None:
        rows = self._sql.rows(
            "SELECT run FROM runs WHERE workspace = ? AND ? IN (thread_id, resumes)"
            " ORDER BY number DESC LIMIT 1",
            *(workspace, thread_id),
        )
        return readable_run(rows[0]["run"]) if rows else None

    def conversations(self) -> set[str]:
        names = ("id", "conversation", "replies_to")
        rows = self._sql.rows("SELECT id, conversation, replies_to FROM runs")
        return {row[name] for row in rows for name in names if row[name]}

    def _note_searched(self, run: Run) -> None:
        spec = run.spec
        self._sql.change(
            "UPDATE runs SET thread_id = ?, resumes = ?, conversation = ?, replies_to = ?"
            " WHERE id = ?",
            *(run.thread_id, spec.resumes, spec.conversation, spec.replies_to, run.id),
        )


class PostgresRuns(TableRuns):
    """The `RunStore` of a team. It connects with the first who asks."""

    def __init__(
        self,
        address: DatabaseAddress,
        *,
        owners: Owners,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._address = address
        self._owners = owners
        self._clock = clock

    def _connected(self) -> OpenRuns:
        database = PostgresDatabase(self._address, RUNS, failure=unusable)
        return OpenRuns(database, TeamRunTable(database, self._owners, clock=self._clock))


def unusable(why: str) -> Fault:
    """The fault of whoever needs runs while their database can be neither read nor written."""
    if _FULL in why:
        return Fault(
            FaultCode.UNAVAILABLE,
            "disk-full",
            "the disk of the database is full, so runs cannot be written and no agent is started",
            hint="make room on the disk of the database, then give the task again",
            private=why,
        )
    return Fault(
        FaultCode.UNAVAILABLE,
        "runs-unavailable",
        "runs cannot be read or written now, so no agent is started",
        hint="switchboard doctor --db",
        private=why,
    )
