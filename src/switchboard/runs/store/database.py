"""The file that runs lie in: private, and shared by every process of a user."""

import contextlib
import os
import shlex
import sqlite3
from collections.abc import Generator
from typing import Any

from switchboard.core.faults import Fault, FaultCode
from switchboard.runs.places import FILE, FOLDER
from switchkit.files import make_folder, make_private_file

# Whoever holds the lock is done in milliseconds; a process that was stopped in between is not.
_BUSY_S = 5.0

_RUNS_AND_EVENTS = """
CREATE TABLE runs (
    -- Counts up, so that runs of one moment have an order, too.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL,
    request_key TEXT NOT NULL,
    may_write INTEGER NOT NULL CHECK (may_write IN (0, 1)),
    state TEXT NOT NULL
        CHECK (state IN ('queued', 'working', 'asking', 'completed', 'failed', 'cancelled')),
    is_delivered INTEGER NOT NULL CHECK (is_delivered IN (0, 1)),
    created_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    -- The process that executes it, or will.
    owner TEXT NOT NULL,
    -- Whether somebody in another process wants it to end.
    is_unwanted INTEGER NOT NULL DEFAULT 0 CHECK (is_unwanted IN (0, 1)),
    -- The whole run as JSON; the columns above repeat what is searched for.
    run BLOB NOT NULL,
    -- How much its transcript has, and whether there was more than is kept.
    events INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    is_cut INTEGER NOT NULL DEFAULT 0 CHECK (is_cut IN (0, 1))
) STRICT;
CREATE INDEX unfinished ON runs (state) WHERE state IN ('queued', 'working', 'asking');
CREATE INDEX by_workspace ON runs (workspace, number);
CREATE INDEX by_request ON runs (request_key) WHERE is_delivered = 0 AND request_key != '';
CREATE INDEX by_end ON runs (ended_at) WHERE ended_at > 0;
CREATE TABLE events (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;
"""
# What each version brought: an older file is brought up to date, a newer one is let be.
_STEPS = (_RUNS_AND_EVENTS,)
_VERSION = len(_STEPS)


class RunDatabase:
    """One connection. Belongs to the thread that opened it."""

    def __init__(self, home: str) -> None:
        """Open or make the file of this home. Raises a fault when it is not ours alone."""
        with _told():
            self._connection = _connect(os.path.join(home, FOLDER))

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """What a query finds."""
        with _told():
            return self._connection.execute(query, values).fetchall()

    def change(self, query: str, *values: Any) -> int:
        """Change rows at once, or as part of `together`. Gives how many."""
        with _told():
            return self._connection.execute(query, values).rowcount

    @contextlib.contextmanager
    def together(self, *, lasting: bool = False) -> Generator[None]:
        """Let several reads and changes be one, which no other process sees half of.

        A `lasting` one is on the disk afterwards, with all that came before it: a power cut does
        not undo it. Others outlive the end of the process only.
        """
        self.change(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
        self.change("BEGIN IMMEDIATE")
        try:
            yield
            self.change("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise unusable(f"{type(error).__name__}: {error}") from error


def _connect(folder: str) -> sqlite3.Connection:
    make_folder(folder)
    path = os.path.join(folder, FILE)
    # Made by us, so that nobody else can read it from the first moment. SQLite gives the files
    # that it puts beside it the same mode.
    make_private_file(path)
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    if _version(connection) == _VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        version = _version(connection)
        if version > _VERSION:
            raise sqlite3.DatabaseError(f"the file is of version {version}")
        for step in _STEPS[version:]:
            for statement in step.split(";\n"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def trouble_with(home: str) -> tuple[str, str]:
    """What is wrong with the file of a home that has one, and what to do; changes nothing."""
    path = os.path.join(home, FOLDER, FILE)
    away = f"mv {shlex.quote(path)} {shlex.quote(path + '.away')}, which leaves its runs behind"
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=_BUSY_S)) as connection:
            version = _version(connection)
    except sqlite3.Error as error:
        return f"runs cannot be read ({error})", f"switchboard daemon stop, then {away}"
    if version > _VERSION:
        why = f"runs were written by a newer Switchboard (version {version}, we know {_VERSION})"
        return why, f"update Switchboard, or: switchboard daemon stop, then {away}"
    return "", ""


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def unusable(why: str) -> Fault:
    """The fault of whoever needs runs while they can be neither read nor written."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "runs-unavailable",
        "runs cannot be read or written now, so no agent is started",
        hint="switchboard doctor",
        private=why,
    )
