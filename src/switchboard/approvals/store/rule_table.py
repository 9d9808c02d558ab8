"""The table of lasting rules. Its methods are those of `core.stores.ApprovalStore`."""

from switchboard.core.sql import Sql, SqlRow
from switchboard.core.stores import LastingRule, PinKey


class RuleTable:
    """Tools that need no further yes, each as it was when somebody said so."""

    def __init__(self, database: Sql) -> None:
        self._database = database

    def add_rule(self, rule: LastingRule, /) -> None:
        key = rule.key
        # One rule for a tool: what it was before is not what was agreed to now.
        self._database.change(
            "INSERT INTO rules (server, fingerprint, tool, hash, id, runs, made_at, made_by, chain)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (server, fingerprint, tool) DO UPDATE SET hash = excluded.hash,"
            " id = excluded.id, runs = excluded.runs, made_at = excluded.made_at,"
            " made_by = excluded.made_by, chain = excluded.chain",
            *(key.server, key.fingerprint, key.tool, rule.definition, rule.id),
            *(rule.runs, rule.made_at, rule.made_by, rule.chain),
        )

    def rule(self, key: PinKey, definition: str, /) -> LastingRule | None:
        rows = self._database.rows(
            "SELECT * FROM rules WHERE server = ? AND fingerprint = ? AND tool = ? AND hash = ?",
            *(key.server, key.fingerprint, key.tool, definition),
        )
        return _rule(rows[0]) if rows else None

    def rules(self) -> list[LastingRule]:
        rows = self._database.rows("SELECT * FROM rules ORDER BY server, tool, made_at")
        return [_rule(row) for row in rows]

    def drop_rule(self, rule_id: str, /) -> bool:
        return self._database.change("DELETE FROM rules WHERE id = ?", rule_id) == 1


def _rule(row: SqlRow) -> LastingRule:
    return LastingRule(
        id=row["id"],
        key=PinKey(row["server"], row["fingerprint"], row["tool"]),
        definition=row["hash"],
        runs=row["runs"],
        made_at=row["made_at"],
        made_by=row["made_by"],
        chain=row["chain"],
    )
