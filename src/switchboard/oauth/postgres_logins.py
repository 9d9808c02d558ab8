"""What the gateways of a team say to each other of logins: by their database."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from switchboard.core.faults import Fault, FaultCode
from switchboard.oauth.faults import login_busy
from switchboard.oauth.login_place import LONGEST_WAIT_S, LOOK_S
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.postgres.notices import Notices

_CHANNEL = "switchboard_logins"

_FIRST = """
CREATE TABLE logins_wanted (
    entry TEXT PRIMARY KEY,
    since TIMESTAMPTZ NOT NULL DEFAULT now()
);
"""
LOGINS = Part("logins", (_FIRST,))


class PostgresLogins:
    """The `LoginPlace` of a team. Who dies, or loses the database, lets go of what it held."""

    def __init__(self, address: DatabaseAddress) -> None:
        """Listen from now on. Raises a fault."""
        self._address = address
        self._changes = 0
        self._lock = threading.Lock()
        self._database = PostgresDatabase(address, LOGINS, failure=_unusable)
        try:
            self._notices = Notices(address, _CHANNEL, lambda _: self._heard(), failure=_unusable)
        except BaseException:
            self._database.close()
            raise

    def stamp(self) -> int:
        return self._changes

    def changed(self) -> None:
        with self._lock:
            self._database.rows("SELECT pg_notify(?, '')", _CHANNEL)
        self._changes += 1

    def note_wanted(self, entry: str, /) -> None:
        # Whoever cannot write this down sees one line less in a table.
        with suppress(Fault), self._lock:
            self._database.change(
                "INSERT INTO logins_wanted (entry) VALUES (?) ON CONFLICT DO NOTHING", entry
            )

    def is_wanted(self, entry: str, /) -> bool:
        with self._lock:
            found = self._database.rows("SELECT 1 AS n FROM logins_wanted WHERE entry = ?", entry)
        return bool(found)

    @asynccontextmanager
    async def locked(self, reference: str, /) -> AsyncGenerator[None]:
        """As `LoginPlace.locked`. Each has a connection of its own, which ends with the process."""
        holding = await asyncio.to_thread(
            lambda: PostgresDatabase(self._address, LOGINS, failure=_unusable)
        )
        try:
            deadline = time.monotonic() + LONGEST_WAIT_S
            while not await asyncio.to_thread(_try_lock, holding, reference):
                if time.monotonic() > deadline:
                    raise login_busy()
                await asyncio.sleep(LOOK_S)
            yield
        finally:
            await asyncio.to_thread(holding.close)

    def close(self) -> None:
        """Let go of every connection."""
        self._notices.close()
        with self._lock:
            self._database.close()

    def _heard(self) -> None:
        self._changes += 1


def _try_lock(database: PostgresDatabase, reference: str) -> bool:
    [row] = database.rows(
        "SELECT pg_try_advisory_lock(hashtextextended(?, 0)) AS got", f"logins\n{reference}"
    )
    return bool(row["got"])


def _unusable(why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "logins-unusable",
        "logins cannot be used now: their database cannot be reached",
        hint="switchboard doctor --db",
        private=why,
    )
