"""The file that questions, pins and rules lie in: private, shared by every process of a user."""

import os

from switchboard.core.faults import Fault, FaultCode
from switchkit.sqlite_file import SqliteFile

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
_WHOLE_DEFINITIONS = """
-- 1 where the hash is of all that a server lists of a tool, 0 where older versions made it.
ALTER TABLE pins ADD COLUMN is_whole INTEGER NOT NULL DEFAULT 0;
-- Where it was asked: each workspace has a queue of its own.
ALTER TABLE questions ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
"""
_LASTING_RULES = """
CREATE TABLE rules (
    server TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- Of the definition that was agreed to.
    hash TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    runs TEXT NOT NULL,
    made_at REAL NOT NULL,
    made_by TEXT NOT NULL,
    chain TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (server, fingerprint, tool)
) STRICT;
"""
# What each version brought: an older file is brought up to date, a newer one is let be.
_STEPS = (
    *(_QUESTIONS_AND_PINS, _CHANGED_TOOLS, _OPAQUE_OWNERS, _WHOLE_DEFINITIONS),
    _LASTING_RULES,
)


class Database(SqliteFile):
    """One connection to the file of a home. Belongs to the thread that opened it.

    A power cut may undo what was written last: it ends every session, and with them everything
    that an approval is bound to.
    """

    def __init__(self, home: str) -> None:
        """Open or make the file. Raises a fault when it is not ours alone."""
        super().__init__(approvals_file(home), steps=_STEPS, busy_s=_BUSY_S, failure=unusable)


def approvals_file(home: str) -> str:
    """Where the file of a home lies, or will."""
    return os.path.join(home, _FOLDER, _FILE)


def unusable(why: str) -> Fault:
    """The fault of a call that needs an approval while there can be none."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "approvals-unavailable",
        "approvals cannot be read or written now, so nothing that needs one runs",
        hint="switchboard approvals list",
        private=why,
    )
