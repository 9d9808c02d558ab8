"""Definitions of tools as they were first seen. A server that changes one later has to wait."""

import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from switchboard.approvals.database import Database
from switchboard.approvals.desk import new_id
from switchboard.approvals.differences import difference, kept
from switchboard.core.definition import definition_hash, definition_of
from switchboard.core.launches import Launch
from switchboard.core.secrets import NO_SECRETS, Redact
from switchboard.core.tools import ToolSpec
from switchkit.processes import living

_MOST_KNOWN = 4_096


class Held(Struct, frozen=True, kw_only=True):
    """A definition that was changed and that nobody has agreed to yet."""

    id: str
    server: str
    tool: str
    # JSON to read, before and after.
    before: str
    after: str
    at: float

    def difference(self) -> tuple[str, ...]:
        """What was changed, as lines with `+` and `-`."""
        return difference(self.before, self.after) or ("… only what is hidden of it differs",)


class Pins:
    """What each tool of each server says of itself, by the fingerprint of the server."""

    def __init__(
        self,
        database: Database,
        *,
        by_value: Redact = NO_SECRETS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._by_value = by_value
        self._clock = clock
        # Definitions that were found to be as pinned: asked for with every call.
        self._known: set[tuple[ToolSpec, str, str]] = set()

    def check(self, launch: Launch, client_pid: int = 0) -> Held | None:
        """Pin a definition at first sight. Gives what is held when it is not the pinned one.

        The client that wanted the call, if it is known, is noted: it may not agree for its user.
        """
        if not launch.is_foreign:
            return None
        key = (launch.tool, launch.server, launch.fingerprint)
        if key in self._known:
            return None
        held = self._compare(launch)
        if held is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add(key)
        else:
            # If the change is agreed to, what it was before is a change itself.
            self._known = {
                (tool, server, fingerprint)
                for tool, server, fingerprint in self._known
                if (server, fingerprint, tool.name) != _place(launch)
            }
            if (client := living(client_pid)) is not None:
                self._database.change(
                    "INSERT OR IGNORE INTO held_by VALUES (?, ?, ?)",
                    held.id,
                    client.pid,
                    client.began,
                )
        return held

    def clients(self, held: Held) -> list[tuple[int, int]]:
        """The processes of those who wanted to call it, each with when it began."""
        rows = self._database.rows("SELECT pid, began FROM held_by WHERE held_id = ?", held.id)
        return [(row["pid"], row["began"]) for row in rows]

    def held(self) -> list[Held]:
        """Every definition that waits for somebody to look at it."""
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

    def find(self, held_id: str) -> Held | None:
        """A held definition by its id."""
        return next((held for held in self.held() if held.id == held_id), None)

    def accept(self, held: Held) -> bool:
        """From now on the changed definition is the pinned one. False if it was changed again."""
        changed = self._database.change(
            # What was agreed to last stays until a call of the changed tool is agreed to.
            "UPDATE pins SET previous = COALESCE(previous, definition), hash = held_hash,"
            " definition = held_definition, pinned_at = ?, held_id = NULL, held_hash = NULL,"
            " held_definition = NULL, held_at = NULL"
            " WHERE held_id = ? AND held_definition = ?",
            self._clock(),
            held.id,
            held.after,
        )
        self._forget_clients()
        return changed == 1

    def refuse(self, held: Held) -> bool:
        """Keep the old definition. The tool goes on being held as long as it differs."""
        changed = self._database.change(
            "UPDATE pins SET held_id = NULL, held_hash = NULL, held_definition = NULL,"
            " held_at = NULL WHERE held_id = ?",
            held.id,
        )
        self._forget_clients()
        return changed == 1

    def changes(self, launch: Launch) -> tuple[str, ...]:
        """What is another since a call of this tool was last agreed to."""
        if not launch.is_foreign:
            return ()
        rows = self._database.rows(
            "SELECT previous, definition FROM pins WHERE server = ? AND fingerprint = ?"
            " AND tool = ? AND previous IS NOT NULL",
            *_place(launch),
        )
        return difference(*rows[0], is_short=True) if rows else ()

    def settle(self, launch: Launch) -> None:
        """Somebody has agreed to a call of this tool as it is now."""
        self._database.change(
            "UPDATE pins SET previous = NULL WHERE server = ? AND fingerprint = ? AND tool = ?"
            " AND previous IS NOT NULL",
            *_place(launch),
        )

    def _forget_clients(self) -> None:
        self._database.change(
            "DELETE FROM held_by WHERE held_id NOT IN"
            " (SELECT held_id FROM pins WHERE held_id IS NOT NULL)"
        )

    def _compare(self, launch: Launch) -> Held | None:
        hashed = definition_hash(launch.tool)
        place = _place(launch)
        with self._database.together():
            rows = self._database.rows(
                "SELECT * FROM pins WHERE server = ? AND fingerprint = ? AND tool = ?", *place
            )
            text = kept(self._by_value(_readable(launch.tool)))
            now = self._clock()
            if not rows:
                self._database.change(
                    "INSERT INTO pins (server, fingerprint, tool, hash, definition, pinned_at)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    *place,
                    hashed,
                    text,
                    now,
                )
                return None
            [row] = rows
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
                    text,
                    now,
                    *place,
                )
        return Held(
            id=held_id,
            server=launch.server,
            tool=launch.tool.name,
            before=row["definition"],
            after=text,
            at=now,
        )


def _place(launch: Launch) -> tuple[str, str, str]:
    return launch.server, launch.fingerprint, launch.tool.name


def _readable(tool: ToolSpec) -> str:
    raw = msgspec.json.encode(definition_of(tool), order="sorted")
    return msgspec.json.format(raw, indent=2).decode()
