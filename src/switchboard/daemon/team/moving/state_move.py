"""Takes the state of a home into the database of a team, or back. Loaded by the one command.

Into the database everything is one transaction, which is read back before it is committed: whoever
is killed leaves nothing. Back into a home there are two steps, each whole by itself: the file of
approvals, then that of the vault. Whatever is read from is only read.
"""

import os
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing, contextmanager

from msgspec import Struct

from switchboard.approvals.store.database import Database, approvals_file
from switchboard.approvals.store.postgres import APPROVALS
from switchboard.audit.postgres.tables import AUDIT
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.team.membership import PARTS, audit_key, team_keys
from switchboard.daemon.team.moving.approval_rows import (
    PINS,
    RULES,
    RowKind,
    Rows,
    read_rows,
    write_rows,
)
from switchboard.daemon.team.moving.home_hold import without_daemon
from switchboard.daemon.team.moving.home_log import HomeLog, find_log, write_log
from switchboard.daemon.team.moving.moved import (
    TO_DATABASE,
    Kind,
    LeftBehind,
    Move,
    MovedKind,
)
from switchboard.daemon.team.moving.vault_entries import (
    Secrets,
    check_home,
    write_to_home,
    write_to_team,
)
from switchboard.postgres.address import DatabaseAddress, read_address
from switchboard.postgres.database import Part, PostgresDatabase
from switchboard.postgres.schema import prepare
from switchboard.vault.file_vault import FileVault
from switchboard.vault.keys.passphrase import AskPassphrase
from switchboard.vault.keys.team_key import TeamKey
from switchboard.vault.opening import open_file_vault
from switchboard.vault.options import VaultOptions
from switchboard.vault.postgres_vault import VAULT
from switchboard.vault.team_entries import TeamEntries

_MOVING = Part("moving", ())
_ROWS: dict[Kind, RowKind] = {"pins": PINS, "rules": RULES}
_ON_A_SERVER = LeftBehind(
    what="secrets and logins", why="the vault of this home is on a server, which keeps them"
)


class HomeState(Struct, frozen=True):
    """A home whose state is moved."""

    path: str
    vault: VaultOptions
    # For whoever has a person at hand.
    ask: AskPassphrase | None = None

    def file_vault(self) -> FileVault | None:
        """Its vault, if that is a file."""
        if self.vault.engine != "file":
            return None
        return open_file_vault(self.path, self.vault, ask=self.ask)


class TeamState(Struct, frozen=True):
    """The database of a team, and its secrets."""

    address: DatabaseAddress
    keys: tuple[TeamKey, ...]


def team_state(database: str, environ: Mapping[str, str]) -> TeamState:
    """That of an address and of an environment with the secrets. Raises a fault."""
    return TeamState(read_address(database), team_keys(environ))


class _Found(Struct, frozen=True):
    """What was read of one side before anything was written to the other."""

    rows: dict[Kind, Rows]
    secrets: Secrets | None = None
    log: HomeLog | None = None


class _NotMeant(Exception):
    """Everything went well, and nothing of it is to stay."""


def move_to_database(
    home: HomeState,
    team: TeamState,
    kinds: Collection[Kind],
    *,
    dry_run: bool = False,
) -> Move:
    """Take the state of a home over, all of it or nothing. Raises a fault. It blocks."""
    with without_daemon(home.path):
        found = _read_home(home, kinds)
        if dry_run and not _has_tables(team.address):
            return Move(kinds=_counted(found), left=_left(home, kinds))
        if not dry_run:
            prepare(team.address, PARTS)
        moved: list[MovedKind] = []
        with _team(team.address) as sql:
            try:
                with sql.together():
                    moved += _write_database(sql, found, team.keys)
                    if dry_run:
                        raise _NotMeant
            except _NotMeant:
                pass
    moved.sort(key=lambda each: TO_DATABASE.index(each.kind))
    return Move(kinds=tuple(moved), left=_left(home, kinds))


def move_to_home(
    home: HomeState,
    team: TeamState,
    kinds: Collection[Kind],
    *,
    replace: bool = False,
    dry_run: bool = False,
) -> Move:
    """Take the state of a team into a home. Raises a fault. It blocks.

    Without `replace` nothing in the home may be another.
    """
    with without_daemon(home.path):
        if not _has_tables(team.address):
            raise Fault(
                FaultCode.NOT_FOUND,
                "no-team-state",
                "no team has kept anything in this database yet, so nothing was moved",
                hint="look at its address: switchboard doctor --db",
            )
        with _team(team.address) as sql, sql.transaction():
            # As it is at one moment, whoever writes meanwhile.
            sql.change("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            found = _read_database(sql, home, kinds, team.keys)
        vault = home.file_vault()
        if vault is not None and found.secrets is not None:
            check_home(vault, found.secrets, replace=replace)
        moved = _write_rows_at_home(home, found, replace=replace, dry_run=dry_run)
        if vault is not None and found.secrets is not None:
            moved.append(write_to_home(vault, found.secrets, dry_run=dry_run))
    return Move(kinds=tuple(moved), left=_left(home, kinds))


def _read_home(home: HomeState, kinds: Collection[Kind]) -> _Found:
    rows: dict[Kind, Rows] = {kind: {} for kind in _ROWS if kind in kinds}
    # Whoever only reads makes no file.
    if rows and os.path.lexists(approvals_file(home.path)):
        with closing(Database(home.path)) as file:
            rows = {kind: read_rows(file, _ROWS[kind]) for kind in rows}
    vault = home.file_vault() if "secrets" in kinds else None
    return _Found(
        rows,
        None if vault is None else vault.contents(),
        find_log(home.path) if "audit" in kinds else None,
    )


def _read_database(
    sql: PostgresDatabase, home: HomeState, kinds: Collection[Kind], keys: Sequence[TeamKey]
) -> _Found:
    rows: dict[Kind, Rows] = {
        kind: read_rows(sql, which) for kind, which in _ROWS.items() if kind in kinds
    }
    is_wanted = "secrets" in kinds and home.vault.engine == "file"
    return _Found(rows, TeamEntries(keys).contents(sql) if is_wanted else None)


def _write_database(
    sql: PostgresDatabase, found: _Found, keys: Sequence[TeamKey]
) -> Generator[MovedKind]:
    # The log first: it takes longest, and keeps nobody else waiting.
    if found.log is not None:
        yield write_log(sql, found.log, audit_key(keys))
    # From the first look to the end nobody else writes them.
    if found.rows:
        sql.change("LOCK TABLE pins, rules IN SHARE ROW EXCLUSIVE MODE")
    for kind, rows in found.rows.items():
        yield write_rows(sql, _ROWS[kind], rows, replace=False, at_home=False)
    if found.secrets is not None:
        sql.change("LOCK TABLE vault_entries IN SHARE ROW EXCLUSIVE MODE")
        yield write_to_team(sql, TeamEntries(keys), found.secrets)


def _write_rows_at_home(
    home: HomeState, found: _Found, *, replace: bool, dry_run: bool
) -> list[MovedKind]:
    moved: list[MovedKind] = []
    if not found.rows:
        return moved
    try:
        with closing(Database(home.path)) as file, file.together(lasting=True):
            for kind, rows in found.rows.items():
                moved.append(write_rows(file, _ROWS[kind], rows, replace=replace, at_home=True))
            if dry_run:
                raise _NotMeant
    except _NotMeant:
        pass
    return moved


def _counted(found: _Found) -> tuple[MovedKind, ...]:
    """What would be moved into a database without tables."""
    counts: dict[Kind, int] = {kind: len(rows) for kind, rows in found.rows.items()}
    if found.secrets is not None:
        counts["secrets"] = len(found.secrets)
    if found.log is not None:
        counts["audit"] = sum(1 for _ in found.log.rows())
    return tuple(MovedKind(kind=kind, count=count, added=count) for kind, count in counts.items())


def _left(home: HomeState, kinds: Collection[Kind]) -> tuple[LeftBehind, ...]:
    is_on_server = "secrets" in kinds and home.vault.engine != "file"
    return (_ON_A_SERVER,) if is_on_server else ()


@contextmanager
def _team(address: DatabaseAddress) -> Generator[PostgresDatabase]:
    """A connection for the tables of several parts, each of the version that is known here."""
    with closing(PostgresDatabase(address, _MOVING, failure=_unusable)) as sql:
        for part in (APPROVALS, AUDIT, VAULT):
            PostgresDatabase(address, part, failure=_unusable).close()
        yield sql


def _has_tables(address: DatabaseAddress) -> bool:
    with closing(PostgresDatabase(address, _MOVING, failure=_unusable)) as sql:
        [row] = sql.rows("SELECT to_regclass('switchboard.versions') IS NOT NULL AS there")
        return bool(row["there"])


def _unusable(why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "database-unusable",
        f"the database cannot be used: {why.strip()}",
        hint="switchboard doctor --db, then the same again: nothing is moved twice",
    )
