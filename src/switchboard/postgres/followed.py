"""Which resources clients follow, and at which process of a team: what others should listen for."""

from collections.abc import Collection
from typing import cast

from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.postgres.unusable import unusable

# A server and a resource of it.
Resource = tuple[str, str]

_FIRST = """
CREATE TABLE followed (
    member TEXT NOT NULL,
    server TEXT NOT NULL,
    uri TEXT NOT NULL
);
CREATE INDEX followed_by_member ON followed (member);
"""
FOLLOWED = Part("followed", (_FIRST,))
# More are not looked at by others: their clients hear of those where they listen.
_MOST = 10_000


class FollowedTable:
    """The rows of one member, and those of the others. It blocks."""

    def __init__(self, address: DatabaseAddress, member: str, *, lease_s: float) -> None:
        self._address = address
        self._member = member
        self._lease_s = lease_s
        self._sql: PostgresDatabase | None = None

    def exchange(self, ours: Collection[Resource]) -> tuple[bool, frozenset[Resource]]:
        """Say what is followed here; gives whether that is news, and what others follow.

        Raises a fault.
        """
        if self._sql is None:
            self._sql = PostgresDatabase(self._address, FOLLOWED, failure=unusable)
        sql = self._sql
        # One that no text of the database can hold is followed by whoever named it, here alone.
        holdable = {each for each in ours if "\0" not in each[1]}
        with sql.transaction():
            rows = sql.rows("SELECT server, uri FROM followed WHERE member = ?", self._member)
            before = {_resource(row) for row in rows}
            for server, uri in before - holdable:
                sql.change(
                    "DELETE FROM followed WHERE member = ? AND server = ? AND uri = ?",
                    *(self._member, server, uri),
                )
            for server, uri in holdable - before:
                sql.change(
                    "INSERT INTO followed (member, server, uri) VALUES (?, ?, ?)",
                    *(self._member, server, uri),
                )
        sql.change("DELETE FROM followed WHERE member NOT IN (SELECT id FROM members)")
        rows = sql.rows(
            "SELECT DISTINCT server, uri FROM followed JOIN members ON members.id = member"
            " WHERE member <> ? AND beat_at > now() - make_interval(secs => ?) LIMIT ?",
            *(self._member, self._lease_s, _MOST),
        )
        return before != holdable, frozenset(map(_resource, rows))

    def close(self) -> None:
        """Let go of the connection. The rows go with the member."""
        if self._sql is not None:
            self._sql.close()


def _resource(row: dict[str, object]) -> Resource:
    return cast("str", row["server"]), cast("str", row["uri"])
