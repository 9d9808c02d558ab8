"""Which processes of a team are alive: each says so from time to time, in a table.

Time is that of the database, so that no clock of a machine counts.
"""

import secrets
import socket
import threading
import time
from collections.abc import Callable

from switchboard import __version__
from switchboard.core.faults import Fault
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Addition, Part, PostgresDatabase
from switchboard.postgres.unusable import unusable

# Who has said nothing for so long is taken for dead.
LEASE_S = 60.0
# How many signs of life a lease has room for.
_BEATS = 12
# How soon one is tried again that the database did not take.
_AGAIN_S = 0.25
# What may be left of a lease when a sign of life is answered, for it to count.
_FRESH = 0.1
_TAG_BYTES = 8

_MEMBERS = """
CREATE TABLE members (
    id TEXT PRIMARY KEY,
    -- What it does, and where: for people.
    role TEXT NOT NULL,
    host TEXT NOT NULL,
    -- What others call it where nobody needs to know more, and where they reach it, if they do.
    tag TEXT NOT NULL UNIQUE,
    address TEXT NOT NULL,
    began_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    beat_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
"""
# Who is about to stop takes nothing new; and which version somebody is, for people.
_LEAVING = """
ALTER TABLE members ADD COLUMN leaving BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE members ADD COLUMN version TEXT NOT NULL DEFAULT '';
"""
PRESENCE = Part("members", (_MEMBERS, Addition(_LEAVING)))


class Presence:
    """This process among the others; to stores it is their `Owners`.

    It beats on a thread of its own from `join` to `leave`. `is_gone` may be asked on any other.
    """

    def __init__(
        self,
        address: DatabaseAddress,
        role: str,
        *,
        reached_at: str = "",
        beat_s: float = 0.0,
        lease_s: float = LEASE_S,
        # What part of the lease it may be silent for; 0: it comes back whenever it can.
        fence: float = 0.0,
        on_beat: Callable[[], None] = lambda: None,
    ) -> None:
        """`reached_at` is where others of the team reach it.

        With a `fence` it is gone for good once it was silent for that part of the lease, and knows
        so before others may take it for gone (`is_lapsed`). `on_beat` is called on the thread
        after each sign of life that the database took.
        """
        host = socket.gethostname()
        self.tag = secrets.token_hex(_TAG_BYTES)
        self.id = f"{host}:{role}:{self.tag}"
        self._reached_at = reached_at
        self._address = address
        self._role = role
        self._host = host
        self._beat_s = beat_s or lease_s / _BEATS
        self._lease_s = lease_s
        self._fence_s = fence * lease_s
        self.on_beat = on_beat
        # Called on the thread, too, before it comes back after others could take it for gone.
        self.on_gap: Callable[[], None] = lambda: None
        self._has_lapsed = threading.Event()
        self._is_leaving = threading.Event()
        self._beats: PostgresDatabase | None = None
        self._asking: PostgresDatabase | None = None
        self._looking: PostgresDatabase | None = None
        self._look = threading.Lock()
        self._ask = threading.Lock()
        self._beat_at = 0.0
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def join(self) -> None:
        """Be known as alive from now on. Raises a fault."""
        self._beat()
        self._thread.start()

    def leave(self) -> None:
        """Be known as gone from now on, as far as the database can be reached."""
        self._is_leaving.set()
        if self._thread.ident is not None:
            self._thread.join(self._beat_s)
        for database in (self._asking, self._looking):
            if database is not None:
                database.close()

    @property
    def silent_s(self) -> float:
        """How long ago it could last say that it is alive."""
        return time.monotonic() - self._beat_at

    def lapse(self) -> None:
        """Be silent from now on, for good: something else kept it from its work for too long."""
        self._has_lapsed.set()

    @property
    def is_lapsed(self) -> bool:
        """Whether it was silent for too long: others may do what was its own, so it must not.

        Once so, always so, also where the database can be reached again.
        """
        if self._fence_s and self._beat_at and self.silent_s > self._fence_s:
            self._has_lapsed.set()
        return self._has_lapsed.is_set()

    def address_of(self, tag: str) -> str:
        """Where another one is reached; empty where there is none. It blocks. Raises a fault."""
        with self._look:
            rows = self._looked().rows("SELECT address FROM members WHERE tag = ?", tag)
        return rows[0]["address"] if rows else ""

    def others(self) -> list[str]:
        """Where others with this role are reached that take what is new, in any order.

        It blocks. Raises a fault.
        """
        with self._look:
            rows = self._looked().rows(
                "SELECT address FROM members WHERE role = ? AND id <> ? AND address <> ''"
                " AND NOT leaving AND beat_at > now() - make_interval(secs => ?)"
                " ORDER BY random()",
                *(self._role, self.id, self._lease_s),
            )
        return [row["address"] for row in rows]

    def retire(self) -> None:
        """Let others know that it takes nothing new any more. It blocks. Raises a fault."""
        with self._look:
            self._looked().change("UPDATE members SET leaving = TRUE WHERE id = ?", self.id)

    def _looked(self) -> PostgresDatabase:
        if self._looking is None:
            self._looking = PostgresDatabase(self._address, PRESENCE, failure=unusable)
        return self._looking

    def gateways_since(self) -> dict[str, float]:
        """Since when those are there who live, by where they are reached, without the scheme.

        It blocks. Raises a fault.
        """
        with self._look:
            rows = self._looked().rows(
                "SELECT address, extract(epoch FROM began_at)::float8 AS since FROM members"
                " WHERE address <> '' AND beat_at > now() - make_interval(secs => ?)",
                self._lease_s,
            )
        return {row["address"].rpartition("/")[2]: row["since"] for row in rows}

    def own(self) -> str:
        """The id of this process."""
        return self.id

    def is_gone(self, owner: str, heard_at: float = 0.0, /) -> bool:
        """Whether an owner left, or was not heard of for the lease. False where nobody can tell.

        When the database was away for longer, an owner may do something before it beats again.
        """
        if owner == self.id or not owner:
            return False
        try:
            with self._ask:
                if self._asking is None:
                    self._asking = PostgresDatabase(self._address, PRESENCE, failure=unusable)
                return not self._asking.rows(
                    "SELECT 1 AS n FROM members WHERE id = ?"
                    " AND greatest(beat_at, to_timestamp(?)) > now() - make_interval(secs => ?)",
                    *(owner, heard_at, self._lease_s),
                )
        except Fault:
            return False

    def _run(self) -> None:
        pause_s = self._beat_s
        while not self._is_leaving.wait(pause_s):
            try:
                self._beat()
            except Fault:
                # The lease runs, and once it has ended others cancel what this one asks: so the
                # first thing that a database hears when it is back is who is there.
                pause_s = min(self._beat_s, _AGAIN_S)
            else:
                pause_s = self._beat_s
        try:
            if self._beats is not None:
                self._beats.change("DELETE FROM members WHERE id = ?", self.id)
        except Fault:
            # Others find out when the lease has ended.
            return
        finally:
            if self._beats is not None:
                self._beats.close()

    def _beat(self) -> None:
        if self.is_lapsed:
            raise unusable("it was silent for too long")
        if self._beats is None:
            self._beats = PostgresDatabase(self._address, PRESENCE, failure=unusable)
        asked = time.monotonic()
        if self._fence_s and self._beat_at:
            # Only while nobody can have taken it for gone.
            changed = self._beats.change(
                "UPDATE members SET beat_at = now() WHERE id = ?"
                " AND beat_at > now() - make_interval(secs => ?)",
                *(self.id, self._lease_s),
            )
            if not changed:
                self._has_lapsed.set()
                raise unusable("its lease has ended")
        elif not self._beat_at or not self._beats.change(
            "UPDATE members SET beat_at = now() WHERE id = ?"
            " AND beat_at > now() - make_interval(secs => ?)",
            *(self.id, self._lease_s),
        ):
            if self._beat_at:
                self.on_gap()
            self._beats.change(
                "INSERT INTO members (id, role, host, tag, address, version)"
                " VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET beat_at = now()",
                *(self.id, self._role, self._host, self.tag, self._reached_at, __version__),
            )
        # From when it was said: it may have been stopped before it heard the answer.
        self._beat_at = asked
        if time.monotonic() - asked < _FRESH * self._lease_s and not self.is_lapsed:
            self.on_beat()
        # Nobody asks for those any more.
        self._beats.change(
            "DELETE FROM members WHERE beat_at < now() - make_interval(secs => ?)",
            24 * 3600.0,
        )
