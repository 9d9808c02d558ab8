"""The tables that the chains of a team lie in, and what their rows are."""

from collections.abc import Sequence
from hashlib import sha256

from switchboard.audit.chain import Tip
from switchboard.audit.head import Head
from switchboard.audit.key import AuditKey
from switchboard.core.audit import AuditRow
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sql import Sql, SqlRow
from switchboard.postgres.database import Part

_FIRST = """
CREATE TABLE audit_records (
    chain TEXT NOT NULL,
    seq BIGINT NOT NULL,
    -- Over all chains, for those who read. It follows the order of `seq` in each chain.
    number BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,
    -- Who reads on from a number must not pass one that another transaction has not committed yet.
    written XID8 NOT NULL DEFAULT pg_current_xact_id(),
    call TEXT NOT NULL,
    body BYTEA NOT NULL,
    prev BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    seal BYTEA,
    PRIMARY KEY (chain, seq)
);
CREATE INDEX audit_records_by_call ON audit_records (call) WHERE call <> '';
CREATE TABLE audit_heads (
    chain TEXT PRIMARY KEY,
    seq BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    signature BYTEA NOT NULL,
    -- The last record that is no anchor: chains that only look at each other say nothing new.
    said BIGINT NOT NULL DEFAULT 0,
    changed_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a record of the audit log is never changed or deleted';
END
$$;
CREATE TRIGGER audit_records_stay BEFORE UPDATE OR DELETE ON audit_records
    FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_records_remain BEFORE TRUNCATE ON audit_records
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
"""
AUDIT = Part("audit", (_FIRST,))
# Those of above; against mistakes, not against attackers.
GUARDS = frozenset({"audit_records_stay", "audit_records_remain"})
_DOMAIN = b"switchboard.audit.chain/1\n"


def start_of(chain: str) -> Tip:
    """What the first record of a chain holds on to: its name, so that no chain passes for another.

    By way of the hashes every seal and every head is bound to it, too.
    """
    return Tip(0, sha256(_DOMAIN + chain.encode()).digest())


def row_of(found: SqlRow, *, number: bool) -> AuditRow:
    """A record, by its number over all chains or by its place in its own."""
    return AuditRow(
        found["number"] if number else found["seq"],
        found["call"],
        found["body"],
        found["prev"],
        found["hash"],
        found["seal"],
    )


def head_of(found: SqlRow) -> Head:
    """The end of a chain, as somebody who had the key saw it."""
    return Head(found["seq"], found["hash"].hex(), found["signature"].hex())


def insert_rows(sql: Sql, chain: str, rows: Sequence[AuditRow]) -> None:
    """Add records to a chain, which get their numbers in this order."""
    columns = (
        [row.seq for row in rows],
        [row.call for row in rows],
        [row.body for row in rows],
        [row.prev for row in rows],
        [row.hash for row in rows],
        [row.seal for row in rows],
    )
    sql.change(
        "INSERT INTO audit_records (chain, seq, call, body, prev, hash, seal)"
        " SELECT ?, * FROM unnest(?::bigint[], ?::text[], ?::bytea[], ?::bytea[], ?::bytea[],"
        " ?::bytea[]) AS row (seq, call, body, prev, hash, seal) ORDER BY seq",
        chain,
        *columns,
    )


def move_head(sql: Sql, chain: str, end: Tip, key: AuditKey, *, said: int) -> None:
    """Sign where a chain ends now. `said` is the last record of the group that is no anchor."""
    sql.change(
        "INSERT INTO audit_heads (chain, seq, hash, signature, said) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (chain) DO UPDATE SET seq = excluded.seq, hash = excluded.hash,"
        " signature = excluded.signature, changed_at = now(),"
        " said = CASE WHEN excluded.seq > excluded.said AND excluded.said <= audit_heads.seq"
        " THEN audit_heads.said ELSE excluded.said END",
        *(chain, end.seq, end.hash, key.sign_head(end.seq, end.hash), said),
    )


def unreadable(why: str) -> Fault:
    """The fault of whoever wanted to read the log."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "audit-unreadable",
        "the audit log cannot be read: its database cannot be used",
        hint="switchboard doctor --db",
        private=why,
    )
