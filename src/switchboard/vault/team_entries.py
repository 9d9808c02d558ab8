"""The rows that the vault of a team lies in: how a value is closed in one, and opened."""

from collections.abc import Sequence

from switchboard.core.sql import Sql, SqlRow
from switchboard.vault.envelope import DataKey, Sealed, SealedEntry
from switchboard.vault.faults import fault_from_wrong_key
from switchboard.vault.keys.team_key import TeamKey
from switchboard.vault.plain_entry import PlainEntry


class TeamEntries:
    """Closes with the first of the secrets of a team, and opens with any of them."""

    def __init__(self, keys: Sequence[TeamKey]) -> None:
        self._keys = {key.id: DataKey(key.derived("vault")) for key in keys}
        self.first = keys[0].id

    def opened(self, row: SqlRow) -> str:
        """The value of a row. Raises a fault."""
        key = self._keys.get(row["key_id"])
        if key is None:
            raise fault_from_wrong_key("a secret of the team that is not known here")
        return key.value(
            row["reference"],
            SealedEntry(
                created_at=row["created_at"],
                changed_at=row["changed_at"],
                value=Sealed(nonce=row["nonce"], text=row["value"]),
            ),
        )

    def write(self, sql: Sql, reference: str, entry: PlainEntry) -> None:
        """Keep a value; one that is there keeps the date of its making."""
        sealed = self._keys[self.first].entry(
            reference, entry.value, created_at=entry.created_at, changed_at=entry.changed_at
        )
        sql.change(
            "INSERT INTO vault_entries (reference, created_at, changed_at, key_id, nonce, value)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (reference) DO UPDATE SET"
            " changed_at = excluded.changed_at, key_id = excluded.key_id,"
            " nonce = excluded.nonce, value = excluded.value",
            *(reference, entry.created_at, entry.changed_at, self.first),
            *(sealed.value.nonce, sealed.value.text),
        )

    def contents(self, sql: Sql) -> dict[str, PlainEntry]:
        """Every value. Raises a fault where one cannot be opened."""
        return {
            row["reference"]: PlainEntry(
                created_at=row["created_at"],
                changed_at=row["changed_at"],
                value=self.opened(row),
            )
            for row in sql.rows("SELECT * FROM vault_entries ORDER BY reference")
        }
