"""The file that questions and pins lie in: private, and shared by every process of a user."""

import contextlib
import os
import sqlite3
from collections.abc import Generator
from typing import Any

from switchboard.core.faults import Fault, FaultCode
from switchkit.files import make_folder, make_private_file

_FOLDER = "state"
_FILE = "approvals.db"
# Whoever holds the lock is done in a millisecond; a process that was stopped in between is not.
_BUSY_S = 2.0

_QUESTIONS_AND_PINS = """
CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'cancelled', 'consumed')),
    used INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
    question BLOB NOT NULL,
    asked_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    extent TEXT NOT NULL DEFAULT 'once',
    decided_by TEXT NOT NULL DEFAULT '',
    decided_at REAL NOT NULL DEFAULT 0,
    -- The processes of whoever decided, nearest first.
    chain TEXT NOT NULL DEFAULT '',
    -- Of older versions; see `owner_id`.
    owner INTEGER NOT NULL DEFAULT 0,
    owner_began INTEGER NOT NULL DEFAULT 0,
    owner_namespace TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX by_digest ON questions (session, digest, state);
CREATE INDEX by_state ON questions (state, expires_at);
CREATE TABLE pins (
    server TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    definition TEXT NOT NULL,
    pinned_at REAL NOT NULL,
    held_id TEXT UNIQUE,
    held_hash TEXT,
    held_definition TEXT,
    held_at REAL,
    PRIMARY KEY (server, fingerprint, tool)
) STRICT;
"""
_CHANGED_TOOLS = """
-- What it was when a call was last agreed to, if it is another now.
ALTER TABLE pins ADD COLUMN previous TEXT;
-- The clients that wanted to call a tool which is held.
CREATE TABLE held_by (
    held_id TEXT NOT NULL,
    pid INTEGER NOT NULL,
    began INTEGER NOT NULL,
    PRIMARY KEY (held_id, pid, began)
) STRICT;
"""
_OPAQUE_OWNERS = """
-- Who waits for the answer, or nothing when the question outlives whoever asked.
ALTER TABLE questions ADD COLUMN owner_id TEXT NOT NULL DEFAULT '';
UPDATE questions SET owner_id = owner || ':' || owner_began || ':' || owner_namespace
    WHERE owner != 0;
-- A daemon of an older version that still runs goes on writing the three columns.
CREATE TRIGGER older_owners AFTER INSERT ON questions WHEN NEW.owner != 0
    BEGIN UPDATE questions SET
        owner_id = NEW.owner || ':' || NEW.owner_began || ':' || NEW.owner_namespace
        WHERE id = NEW.id; END;
"""
# What each version brought: an older file is brought up to date, a newer one is let be.
_STEPS = (_QUESTIONS_AND_PINS, _CHANGED_TOOLS, _OPAQUE_OWNERS)
_VERSION = len(_STEPS)


class Database:
    """One connection. Belongs to the thread that opened it."""

    def __init__(self, home: str) -> None:
        """Open or make the file of this home. Raises a fault when it is not ours alone."""
        try:
            self._connection = _connect(os.path.join(home, _FOLDER))
        except (OSError, sqlite3.Error) as error:
            raise unusable(f"{type(error).__name__}: {error}") from error

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """What a query finds."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise unusable(f"{type(error).__name__}: {error}") from error

    def change(self, query: str, *values: Any) -> int:
        """Change rows at once, or as part of `together`. Gives how many."""
        try:
            return self._connection.execute(query, values).rowcount
        except sqlite3.Error as error:
            raise unusable(f"{type(error).__name__}: {error}") from error

    @contextlib.contextmanager
    def together(self) -> Generator[None]:
        """Let several reads and changes be one, which no other process sees half of."""
        self.change("BEGIN IMMEDIATE")
        try:
            yield
            self.change("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def version(self) -> tuple[int, int]:
        """Another value once something has changed: by another process, or through here."""
        [row] = self.rows("PRAGMA data_version")
        return row[0], self._connection.total_changes

    def close(self) -> None:
        self._connection.close()


def _connect(folder: str) -> sqlite3.Connection:
    make_folder(folder)
    path = os.path.join(folder, _FILE)
    # Made by us, so that nobody else can read it from the first moment. SQLite gives the files
    # that it puts beside it the same mode.
    make_private_file(path)
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut ends every session, and with them everything that an approval is bound to.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA trusted_schema = OFF")
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


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def unusable(why: str) -> Fault:
    """The fault of a call that needs an approval while there can be none."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "approvals-unavailable",
        "approvals cannot be read or written now, so nothing that needs one runs",
        hint="switchboard approvals list",
        private=why,
    )
