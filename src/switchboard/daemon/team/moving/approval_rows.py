"""Pinned definitions and lasting rules as rows, which have the same columns on both sides."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from switchboard.core.sql import Sql
from switchboard.daemon.team.moving.moved import Kind, MovedKind, differs, unverified

_KEY = ("server", "fingerprint", "tool")


class RowKind(Struct, frozen=True):
    """A table whose rows are moved."""

    kind: Kind
    table: str
    columns: tuple[str, ...]


PINS = RowKind(
    "pins",
    "pins",
    (
        *_KEY,
        *("hash", "definition", "pinned_at", "held_id", "held_hash", "held_definition"),
        *("held_at", "previous", "is_whole"),
    ),
)
RULES = RowKind("rules", "rules", (*_KEY, "hash", "id", "runs", "made_at", "made_by", "chain"))
Rows = Mapping[tuple[str, ...], tuple[Any, ...]]


def read_rows(sql: Sql, kind: RowKind) -> Rows:
    """Every row of a table, by its key. Raises what the database fails with."""
    found = sql.rows(f"SELECT {', '.join(kind.columns)} FROM {kind.table}")  # noqa: S608 - ours
    every = (tuple(row[name] for name in kind.columns) for row in found)
    return {row[: len(_KEY)]: row for row in every}


def write_rows(sql: Sql, kind: RowKind, wanted: Rows, *, replace: bool, at_home: bool) -> MovedKind:
    """Let a table hold exactly these rows; inside `together`. Raises a fault.

    Without `replace` nothing that is there may be another.
    """
    there = read_rows(sql, kind)
    other = [key for key, row in there.items() if wanted.get(key) != row]
    if other and not replace:
        raise differs(kind.kind, [f"{key[0]}/{key[2]}" for key in other], at_home=at_home)
    for key in other:
        sql.change(
            f"DELETE FROM {kind.table}"  # noqa: S608 - ours
            " WHERE server = ? AND fingerprint = ? AND tool = ?",
            *key,
        )
    places = ", ".join("?" * len(kind.columns))
    missing = [row for key, row in wanted.items() if there.get(key) != row]
    for row in missing:
        sql.change(
            f"INSERT INTO {kind.table} ({', '.join(kind.columns)}) VALUES ({places})",  # noqa: S608
            *row,
        )
    now = read_rows(sql, kind)
    if _digest(now) != _digest(wanted):
        raise unverified(kind.kind)
    return MovedKind(
        kind=kind.kind,
        count=len(now),
        added=len(missing),
        replaced=len(other),
        digest=_digest(now),
    )


def _digest(rows: Rows) -> str:
    return sha256(msgspec.json.encode([rows[key] for key in sorted(rows)])).hexdigest()
