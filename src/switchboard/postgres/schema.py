"""The tables of a database: made once, and brought up to date by one process at a time.

Additions are made by whoever knows them first, because programs that do not know them go on as
before. A new version of tables is for somebody who says so, when nobody uses them.
"""

from collections.abc import Sequence
from typing import LiteralString, cast

import psycopg

from switchboard.core.faults import Fault, FaultCode
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import (
    SCHEMA,
    Addition,
    Connection,
    Mismatch,
    Part,
    TableStanding,
    connect,
    standings,
    version_words,
)

# Whoever changes tables holds it; no part has this number.
_CHANGING = 0x5377_6974_6368
# Tables may be large, and another process may be at it.
_PATIENCE = "600s"
# Who waits for a table keeps everybody else from it, who would go on if it was not waited for.
_LOCK_PATIENCE = "2s"
_TRIES = 30

_VERSIONS = """
CREATE TABLE IF NOT EXISTS versions (
    part TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""
_HAS_STEPS = (
    "SELECT 1 AS n FROM information_schema.columns"
    " WHERE table_schema = %s AND table_name = 'versions' AND column_name = 'steps'"
)


def prepare(address: DatabaseAddress, parts: Sequence[Part], *, upgrade: bool = False) -> list[str]:
    """Make the tables that are not there, and what was added to others; gives what was done.

    All of it or nothing. Tables of an older version are changed only with `upgrade`: programs of
    that version cannot use them afterwards. Raises a fault when they are older otherwise, when
    they are newer, and when the database cannot be used.
    """
    try:
        with connect(address) as connection:
            connection.execute("SELECT set_config('statement_timeout', %s, false)", (_PATIENCE,))
            for left in reversed(range(_TRIES)):
                try:
                    return _prepared_at_once(connection, parts, upgrade=upgrade)
                except psycopg.errors.LockNotAvailable:
                    if not left:
                        raise
            raise AssertionError("one of them was the last")
    except (OSError, psycopg.Error, Mismatch) as error:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "database-unusable",
            f"the database cannot be used: {address.without_secret(str(error).strip())}",
            hint="switchboard doctor --db",
        ) from None


def _prepared_at_once(connection: Connection, parts: Sequence[Part], *, upgrade: bool) -> list[str]:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CHANGING,))
        connection.execute("SELECT set_config('lock_timeout', %s, true)", (_LOCK_PATIENCE,))
        return _prepared(connection, parts, upgrade=upgrade)


def _prepared(connection: Connection, parts: Sequence[Part], *, upgrade: bool) -> list[str]:
    [found] = connection.execute(
        "SELECT 1 AS n FROM pg_namespace WHERE nspname = %s", (SCHEMA,)
    ).fetchall() or [None]
    if found is None:
        # Asked before: who may not make it need not, where it is.
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
    connection.execute(_VERSIONS)
    if not connection.execute(_HAS_STEPS, (SCHEMA,)).fetchall():
        connection.execute("ALTER TABLE versions ADD COLUMN steps INTEGER")
    there = standings(connection)
    done: list[str] = []
    for part in parts:
        standing = there.get(part.name, TableStanding())
        known = TableStanding(part.version, len(part.steps))
        if standing.suits(part):
            continue
        if standing.version and not standing.lacks_additions(part):
            is_older = standing.version < known.version
            if not (is_older and upgrade):
                raise Mismatch(version_words(part, standing))
        for step in part.steps[standing.steps :]:
            sql = step.sql if isinstance(step, Addition) else step
            connection.execute(cast("LiteralString", sql))
        connection.execute(
            "INSERT INTO versions (part, version, steps) VALUES (%s, %s, %s)"
            " ON CONFLICT (part) DO UPDATE SET version = excluded.version,"
            " steps = excluded.steps, changed_at = now()",
            (part.name, known.version, known.steps),
        )
        done.append(f"{part.name} {_numbered(standing)} -> {_numbered(known)}")
    return done


def _numbered(standing: TableStanding) -> str:
    more = standing.steps - standing.version
    return f"{standing.version}.{more}" if more else f"{standing.version}"
