"""The table of pinned tool definitions. Its methods are those of `core.stores.ApprovalStore`."""

from collections.abc import Callable

from switchboard.approvals.queue import new_id
from switchboard.core.sql import Sql
from switchboard.core.stores import Held, PinKey


class PinTable:
    """What each tool of each server says of itself, by the fingerprint of the server."""

    def __init__(self, database: Sql, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def pin(self, key: PinKey, hashed: str, definition: str, older: str = "", /) -> Held | None:
        place = (key.server, key.fingerprint, key.tool)
        with self._database.together():
            rows = self._database.rows(
                "SELECT * FROM pins WHERE server = ? AND fingerprint = ? AND tool = ?", *place
            )
            now = self._clock()
            if not rows:
                self._database.change(
                    "INSERT INTO pins"
                    " (server, fingerprint, tool, hash, definition, pinned_at, is_whole)"
                    " VALUES (?, ?, ?, ?, ?, ?, 1)",
                    *place,
                    hashed,
                    definition,
                    now,
                )
                return None
            [row] = rows
            if not row["is_whole"] and row["hash"] in {hashed, older}:
                # What an older version pinned is as it was, as far as that version looked.
                self._database.change(
                    "UPDATE pins SET hash = ?, definition = ?, is_whole = 1"
                    " WHERE server = ? AND fingerprint = ? AND tool = ?",
                    hashed,
                    definition,
                    *place,
                )
                return None
            if row["hash"] == hashed:
                return None
            held_id = row["held_id"] if row["held_hash"] == hashed else None
            if held_id is None:
                # An id stands for one change: who has looked at another one has not seen this.
                held_id = new_id()
                self._database.change(
                    "UPDATE pins SET held_id = ?, held_hash = ?, held_definition = ?, held_at = ?"
                    " WHERE server = ? AND fingerprint = ? AND tool = ?",
                    held_id,
                    hashed,
                    definition,
                    now,
                    *place,
                )
        return Held(
            id=held_id,
            server=key.server,
            tool=key.tool,
            before=row["definition"],
            after=definition,
            at=now,
        )

    def pinned(self, server: str, fingerprint: str, /) -> dict[str, tuple[str, bool]]:
        rows = self._database.rows(
            "SELECT tool, hash, is_whole FROM pins WHERE server = ? AND fingerprint = ?",
            *(server, fingerprint),
        )
        return {row["tool"]: (row["hash"], bool(row["is_whole"])) for row in rows}

    def wanted(self, held: Held, pid: int, began: int, /) -> None:
        self._database.change(
            "INSERT INTO held_by (held_id, pid, began) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            *(held.id, pid, began),
        )

    def clients(self, held: Held, /) -> list[tuple[int, int]]:
        rows = self._database.rows("SELECT pid, began FROM held_by WHERE held_id = ?", held.id)
        return [(row["pid"], row["began"]) for row in rows]

    def held(self) -> list[Held]:
        rows = self._database.rows(
            "SELECT * FROM pins WHERE held_id IS NOT NULL ORDER BY held_at, tool"
        )
        return [
            Held(
                id=row["held_id"],
                server=row["server"],
                tool=row["tool"],
                before=row["definition"],
                after=row["held_definition"],
                at=row["held_at"],
            )
            for row in rows
        ]

    def accept(self, held: Held, /) -> bool:
        changed = self._database.change(
            # What was agreed to last stays until a call of the changed tool is agreed to.
            "UPDATE pins SET previous = COALESCE(previous, definition), hash = held_hash,"
            " is_whole = 1, definition = held_definition, pinned_at = ?, held_id = NULL,"
            " held_hash = NULL, held_definition = NULL, held_at = NULL"
            " WHERE held_id = ? AND held_definition = ?",
            self._clock(),
            held.id,
            held.after,
        )
        self._forget_clients()
        return changed == 1

    def refuse(self, held: Held, /) -> bool:
        changed = self._database.change(
            "UPDATE pins SET held_id = NULL, held_hash = NULL, held_definition = NULL,"
            " held_at = NULL WHERE held_id = ?",
            held.id,
        )
        self._forget_clients()
        return changed == 1

    def unsettled(self, key: PinKey, /) -> tuple[str, str] | None:
        rows = self._database.rows(
            "SELECT previous, definition FROM pins WHERE server = ? AND fingerprint = ?"
            " AND tool = ? AND previous IS NOT NULL",
            *(key.server, key.fingerprint, key.tool),
        )
        return (rows[0]["previous"], rows[0]["definition"]) if rows else None

    def settle(self, key: PinKey, /) -> None:
        self._database.change(
            "UPDATE pins SET previous = NULL WHERE server = ? AND fingerprint = ? AND tool = ?"
            " AND previous IS NOT NULL",
            *(key.server, key.fingerprint, key.tool),
        )

    def _forget_clients(self) -> None:
        self._database.change(
            "DELETE FROM held_by WHERE held_id NOT IN"
            " (SELECT held_id FROM pins WHERE held_id IS NOT NULL)"
        )
