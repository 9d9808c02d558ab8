"""The tables of a database: made once, and brought up to date by one process at a time."""

from collections.abc import Sequence
from typing import LiteralString, cast

import psycopg

from switchboard.core.faults import Fault, FaultCode
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import (
    SCHEMA,
    Connection,
    Outdated,
    Part,
    connect,
    version_words,
)

# Whoever changes tables holds it; no part has this number.
_CHANGING = 0x5377_6974_6368
# Tables may be large, and another process may be at it.
_PATIENCE = "600s"

_VERSIONS = """
CREATE TABLE IF NOT EXISTS versions (
    part TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""


def prepare(address: DatabaseAddress, parts: Sequence[Part], *, upgrade: bool = False) -> list[str]:
    """Make the tables that are not there; gives what was done, in words. All of it or nothing.

    Older tables are changed only with `upgrade`: programs of the version before may still use
    them. Raises a fault when they are older otherwise, when they are newer, and when the database
    cannot be used.
    """
    try:
        with connect(address) as connection:
            connection.execute("SELECT set_config('statement_timeout', %s, false)", (_PATIENCE,))
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CHANGING,))
                return _prepared(connection, parts, upgrade=upgrade)
    except (OSError, psycopg.Error, Outdated) as error:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "database-unusable",
            f"the database cannot be used: {address.without_secret(str(error).strip())}",
            hint="switchboard doctor --db",
        ) from None


def _prepared(connection: Connection, parts: Sequence[Part], *, upgrade: bool) -> list[str]:
    [found] = connection.execute(
        "SELECT 1 AS n FROM pg_namespace WHERE nspname = %s", (SCHEMA,)
    ).fetchall() or [None]
    if found is None:
        # Asked before: who may not make it need not, where it is.
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
    connection.execute(_VERSIONS)
    rows = connection.execute("SELECT part, version FROM versions").fetchall()
    versions = {row["part"]: row["version"] for row in rows}
    done: list[str] = []
    for part in parts:
        version = versions.get(part.name, 0)
        known = len(part.steps)
        if version > known or (0 < version < known and not upgrade):
            raise Outdated(version_words(part, version))
        for step in part.steps[version:]:
            connection.execute(cast("LiteralString", step))
        if version != known:
            connection.execute(
                "INSERT INTO versions (part, version) VALUES (%s, %s)"
                " ON CONFLICT (part) DO UPDATE SET version = excluded.version, changed_at = now()",
                (part.name, known),
            )
            done.append(f"{part.name} {version} -> {known}")
    return done
