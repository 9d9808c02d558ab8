"""The vault of a team: each value encrypted, in a table that every gateway reads.

The database never sees a key. Who has the database alone can take values away, or put an older one
back under its own reference, and can read or exchange none.
"""

import threading
import time
from collections.abc import Sequence
from typing import Any

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import VaultEntry
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.postgres.notices import Notices
from switchboard.vault.keys.team_key import TeamKey
from switchboard.vault.plain_entry import PlainEntry
from switchboard.vault.references import check_name
from switchboard.vault.team_entries import TeamEntries
from switchboard.vault.values import check_value

_CHANNEL = "switchboard_vault"
# Noting each use would make every look a write.
_USE_NOTED_S = 60.0

_FIRST = """
CREATE TABLE vault_entries (
    reference TEXT PRIMARY KEY,
    created_at DOUBLE PRECISION NOT NULL,
    changed_at DOUBLE PRECISION NOT NULL,
    used_at DOUBLE PRECISION NOT NULL DEFAULT 0,
    -- Which of the secrets of the team it is closed with.
    key_id TEXT NOT NULL,
    nonce BYTEA NOT NULL,
    value BYTEA NOT NULL
);
CREATE FUNCTION tell_of_vault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('switchboard_vault', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER vault_told AFTER INSERT OR DELETE OR UPDATE OF value ON vault_entries
    FOR EACH ROW EXECUTE FUNCTION tell_of_vault();
"""
VAULT = Part("vault", (_FIRST,))


class PostgresVault:
    """A `VaultStore` in PostgreSQL. Threads and processes may share it."""

    def __init__(self, address: DatabaseAddress, keys: Sequence[TeamKey]) -> None:
        """The first key closes, all of them open. It connects with the first who asks."""
        self._address = address
        self._entries = TeamEntries(keys)
        self._lock = threading.RLock()
        self._database: PostgresDatabase | None = None
        self._notices: Notices | None = None
        self._changes = 0

    def get(self, reference: str, /) -> str | None:
        with self._lock:
            rows = self._sql().rows("SELECT * FROM vault_entries WHERE reference = ?", reference)
            if not rows:
                return None
            self._note_use(rows[0])
        return self._entries.opened(rows[0])

    def put(self, reference: str, value: str, /) -> None:
        check_name(reference)
        check_value(value)
        now = time.time()
        with self._lock:
            database = self._sql()
            with database.together(over=reference):
                rows = database.rows(
                    "SELECT created_at FROM vault_entries WHERE reference = ?", reference
                )
                created_at = rows[0]["created_at"] if rows else now
                entry = PlainEntry(created_at=created_at, changed_at=now, value=value)
                self._entries.write(database, reference, entry)
            self._changes += 1

    def delete(self, reference: str, /) -> bool:
        with self._lock:
            done = self._sql().change("DELETE FROM vault_entries WHERE reference = ?", reference)
            self._changes += done
        return done == 1

    def entries(self) -> list[VaultEntry]:
        with self._lock:
            rows = self._sql().rows(
                "SELECT reference, created_at, changed_at, used_at FROM vault_entries"
            )
        found = [VaultEntry(**row) for row in rows]
        return sorted(found, key=lambda entry: entry.reference)

    def mark(self) -> object:
        return self._changes

    def close(self) -> None:
        with self._lock:
            if self._notices is not None:
                self._notices.close()
                self._notices = None
            if self._database is not None:
                self._database.close()
                self._database = None

    def close_with_first_key(self) -> int:
        """Encrypt with the first key what an older one closed; gives how many. Raises a fault."""
        done = 0
        with self._lock:
            database = self._sql()
            rows = database.rows(
                "SELECT reference FROM vault_entries WHERE key_id != ?", self._entries.first
            )
            for reference in (row["reference"] for row in rows):
                with database.together(over=reference):
                    # Somebody may have changed it since.
                    found = database.rows(
                        "SELECT * FROM vault_entries WHERE reference = ? AND key_id != ?",
                        *(reference, self._entries.first),
                    )
                    for row in found:
                        entry = PlainEntry(
                            created_at=row["created_at"],
                            changed_at=row["changed_at"],
                            value=self._entries.opened(row),
                        )
                        self._entries.write(database, reference, entry)
                        done += 1
        return done

    def _note_use(self, row: dict[str, Any]) -> None:
        now = time.time()
        if now - row["used_at"] > _USE_NOTED_S:
            self._sql().change(
                "UPDATE vault_entries SET used_at = ? WHERE reference = ?", now, row["reference"]
            )

    def _sql(self) -> PostgresDatabase:
        if self._database is None:
            database = PostgresDatabase(self._address, VAULT, failure=_unavailable)
            try:
                self._notices = Notices(
                    self._address, _CHANNEL, lambda _: self._heard(), failure=_unavailable
                )
            except BaseException:
                database.close()
                raise
            self._database = database
            # What was kept before it listened may have changed.
            self._changes += 1
        return self._database

    def _heard(self) -> None:
        self._changes += 1


def _unavailable(why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "vault-unavailable",
        "the vault cannot be used: its database cannot be reached",
        hint="switchboard doctor --db",
        private=why,
    )
