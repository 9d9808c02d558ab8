"""Approvals in PostgreSQL: one queue for all gateways of a team."""

import contextlib
import time
from collections.abc import Callable

from switchboard.approvals.store.approval_tables import TableApprovals
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import Owners
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.postgres.notices import Notices

_CHANNEL = "switchboard_approvals"

_FIRST = """
CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'cancelled', 'consumed')),
    used INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
    question BYTEA NOT NULL,
    asked_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL,
    extent TEXT NOT NULL DEFAULT 'once',
    decided_by TEXT NOT NULL DEFAULT '',
    decided_at DOUBLE PRECISION NOT NULL DEFAULT 0,
    chain TEXT NOT NULL DEFAULT '',
    owner_id TEXT NOT NULL DEFAULT '',
    workspace TEXT NOT NULL DEFAULT ''
);
CREATE INDEX questions_by_digest ON questions (session, digest, state);
CREATE INDEX questions_by_state ON questions (state, expires_at);
CREATE TABLE pins (
    server TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    definition TEXT NOT NULL,
    pinned_at DOUBLE PRECISION NOT NULL,
    held_id TEXT UNIQUE,
    held_hash TEXT,
    held_definition TEXT,
    held_at DOUBLE PRECISION,
    previous TEXT,
    is_whole INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (server, fingerprint, tool)
);
CREATE TABLE held_by (
    held_id TEXT NOT NULL,
    pid BIGINT NOT NULL,
    began BIGINT NOT NULL,
    PRIMARY KEY (held_id, pid, began)
);
CREATE TABLE rules (
    server TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    runs TEXT NOT NULL,
    made_at DOUBLE PRECISION NOT NULL,
    made_by TEXT NOT NULL,
    chain TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (server, fingerprint, tool)
);
CREATE FUNCTION tell_of_approvals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('switchboard_approvals', '');
    RETURN NULL;
END
$$;
-- For each row, not for each statement: one that changes nothing is no news, and whoever is told
-- looks, which closes what has expired.
CREATE TRIGGER questions_told AFTER INSERT OR UPDATE OR DELETE ON questions
    FOR EACH ROW EXECUTE FUNCTION tell_of_approvals();
CREATE TRIGGER pins_told AFTER INSERT OR UPDATE OR DELETE ON pins
    FOR EACH ROW EXECUTE FUNCTION tell_of_approvals();
CREATE TRIGGER rules_told AFTER INSERT OR UPDATE OR DELETE ON rules
    FOR EACH ROW EXECUTE FUNCTION tell_of_approvals();
"""
APPROVALS = Part("approvals", (_FIRST,))


class PostgresApprovals(TableApprovals):
    """The `ApprovalStore` of a team. It connects with the first who asks."""

    def __init__(
        self,
        address: DatabaseAddress,
        *,
        owners: Owners,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(owners=owners, clock=clock)
        self._address = address
        self._notices: Notices | None = None

    def _connected(self) -> PostgresDatabase:
        database = PostgresDatabase(self._address, APPROVALS, failure=_unusable)
        try:
            self._notices = Notices(
                self._address, _CHANNEL, lambda _: self._tell_all(), failure=_unusable
            )
        except BaseException:
            database.close()
            raise
        # Who subscribed before it listened may have missed something.
        self._tell_all()
        return database

    def _look(self) -> bool:
        """The database tells: all there is to do is to listen, once somebody wants to be told."""
        if self._opened is None and self._subscribers and not self._is_closed:
            with contextlib.suppress(Exception):
                self._open()
            return self._opened is None
        return False

    def _close(self) -> None:
        if self._notices is not None:
            self._notices.close()
            self._notices = None
        super()._close()


def _unusable(why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "approvals-unavailable",
        "approvals cannot be read or written now, so nothing that needs one runs",
        hint="switchboard doctor --db",
        private=why,
    )
