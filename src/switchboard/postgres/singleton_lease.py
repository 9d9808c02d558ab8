"""Which process of a team runs a server of which there is one."""

from msgspec import Struct

from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.postgres.unusable import unusable

_FIRST = """
CREATE TABLE singletons (
    server TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    taken_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
"""
SINGLETONS = Part("singletons", (_FIRST,))


class Holder(Struct, frozen=True):
    """Who runs one."""

    member: str
    # Where it is reached.
    address: str


class SingletonLease:
    """The table. It blocks; not for two threads at once."""

    def __init__(self, address: DatabaseAddress, member: str, *, lease_s: float) -> None:
        self._address = address
        self._member = member
        self._lease_s = lease_s
        self._sql: PostgresDatabase | None = None

    def take(self, server: str) -> Holder:
        """Who runs it: we do, where nobody did who is alive. Raises a fault."""
        sql = self._open()
        with sql.together(over=server):
            rows = sql.rows(
                "SELECT holder, address FROM singletons JOIN members ON id = holder"
                " WHERE server = ? AND beat_at > now() - make_interval(secs => ?)",
                *(server, self._lease_s),
            )
            if rows and rows[0]["holder"] != self._member:
                return Holder(rows[0]["holder"], rows[0]["address"])
            # From now on the whole lease is ours: others reckon from here.
            # One that others could take for gone has to notice first.
            is_alive = sql.change(
                "UPDATE members SET beat_at = now() WHERE id = ?"
                " AND beat_at > now() - make_interval(secs => ?)",
                *(self._member, self._lease_s),
            )
            if not is_alive:
                raise unusable("this process was silent for too long")
            if not rows:
                sql.change(
                    "INSERT INTO singletons (server, holder) VALUES (?, ?) ON CONFLICT (server)"
                    " DO UPDATE SET holder = excluded.holder, taken_at = now()",
                    *(server, self._member),
                )
        return Holder(self._member, "")

    def alive(self, members: set[str]) -> set[str]:
        """Those of them who are not taken for gone. Raises a fault."""
        rows = self._open().rows(
            "SELECT id FROM members WHERE id = ANY(?)"
            " AND beat_at > now() - make_interval(secs => ?)",
            *(sorted(members), self._lease_s),
        )
        return {row["id"] for row in rows}

    def close(self) -> None:
        """Let go of the connection."""
        if self._sql is not None:
            self._sql.close()

    def _open(self) -> PostgresDatabase:
        if self._sql is None:
            self._sql = PostgresDatabase(self._address, SINGLETONS, failure=unusable)
        return self._sql
