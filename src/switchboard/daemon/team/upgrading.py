"""Bringing the tables of a team up to date, when somebody says so."""

from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.team.membership import PARTS
from switchboard.postgres.address import read_address
from switchboard.postgres.database import (
    NO_TABLES,
    PostgresDatabase,
    TableStanding,
    standing_in,
)
from switchboard.postgres.presence import LEASE_S
from switchboard.postgres.schema import prepare


def upgrade_tables(database: str) -> tuple[str, list[str]]:
    """Do every step that this version knows; gives where, and what was done, in words. It blocks.

    What is added, programs of the version before can live with. Anything else is done when none of
    them runs. Raises a fault.
    """
    address = read_address(database)
    sql = PostgresDatabase(address, NO_TABLES, failure=_unusable)
    try:
        [row] = sql.rows("SELECT to_regclass('switchboard.versions') IS NOT NULL AS there")
        found = sql.rows("SELECT * FROM versions") if row["there"] else ()
        there = {row["part"]: standing_in(row) for row in found}
        older = [
            part.name
            for part in PARTS
            if 0 < there.get(part.name, TableStanding()).version < part.version
        ]
        alive = (
            sql.rows(
                "SELECT role, host FROM members"
                " WHERE beat_at > now() - make_interval(secs => ?) ORDER BY host, role",
                LEASE_S,
            )
            if older and "members" in there
            else ()
        )
    finally:
        sql.close()
    if alive:
        who = ", ".join(f"{row['role']} on {row['host']}" for row in alive[:5])
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "team-still-runs",
            f"the tables of {', '.join(older)} get another version, which those that run now"
            f" cannot use: {who}",
            hint="stop every gateway and worker of the team first",
        )
    return str(address), prepare(address, PARTS, upgrade=True)


def _unusable(why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "database-unusable",
        f"the database cannot be used: {why}",
        hint="switchboard doctor --db",
    )
