"""How long a process of a team may be silent: one number for all of them, kept in the database."""

from switchboard.core.faults import Fault, FaultCode
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.postgres.presence import LEASE_S
from switchboard.postgres.unusable import unusable

VARIABLE = "SWITCHBOARD_TEAM_LEASE"
# A shorter one is over before a slow moment is. Commands judge by the usual one, so none is longer.
_SHORTEST_S = 3.0
# Of the lease: who was silent for so long gives up by itself what is its own, and after this long
# it is ended without its help. What is left is for that end, before anybody else begins.
FENCE = 0.6
SILENCE = 0.7

_FIRST = """
CREATE TABLE agreed_lease (
    is_only BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (is_only),
    seconds DOUBLE PRECISION NOT NULL
);
"""
AGREED = Part("lease", (_FIRST,))


def agreed_lease(address: DatabaseAddress, wanted: str = "") -> float:
    """The lease of the team. Who wants one says so to the first process; others have to agree.

    Raises a fault where they do not, and where it is no number that can be one. It blocks.
    """
    seconds = _read(wanted) if wanted else None
    sql = PostgresDatabase(address, AGREED, failure=unusable)
    try:
        with sql.together():
            rows = sql.rows("SELECT seconds FROM agreed_lease")
            if rows and seconds in {None, rows[0]["seconds"]}:
                return rows[0]["seconds"]
            if rows and _is_anybody_there(sql, rows[0]["seconds"]):
                raise Fault(
                    FaultCode.FAILED_PRECONDITION,
                    "team-lease-differs",
                    f"the lease of this team is {rows[0]['seconds']:g} s, and here it is"
                    f" {seconds:g} s",
                    hint=f"leave {VARIABLE} out, or stop every process of the team first",
                )
            seconds = LEASE_S if seconds is None else seconds
            sql.change(
                "INSERT INTO agreed_lease (seconds) VALUES (?)"
                " ON CONFLICT (is_only) DO UPDATE SET seconds = excluded.seconds",
                seconds,
            )
            return seconds
    finally:
        sql.close()


def _is_anybody_there(sql: PostgresDatabase, lease_s: float) -> bool:
    return bool(
        sql.rows(
            "SELECT 1 AS n FROM members WHERE beat_at > now() - make_interval(secs => ?)", lease_s
        )
    )


def _read(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _SHORTEST_S <= seconds <= LEASE_S:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "team-lease",
            f"{VARIABLE} is a number of seconds from {_SHORTEST_S:g} to {LEASE_S:g}",
            hint=f"leave {VARIABLE} out: then it is {LEASE_S:g}",
        )
    return seconds
