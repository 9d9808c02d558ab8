"""The file that runs lie in: private, and shared by every process of a user."""

import os
import shlex
import sqlite3

from switchboard.core.faults import Fault, FaultCode
from switchboard.runs.places import FILE, FOLDER
from switchkit.sqlite_file import SqliteFile, schema_version

# Whoever holds the lock is done in milliseconds; a process that was stopped in between is not.
_BUSY_S = 5.0
# How SQLite, and the system, say that there is no room.
_FULL = ("disk is full", "No space left")
# With less than this a run cannot be kept.
_LEAST_ROOM = 1024 * 1024

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


class RunDatabase(SqliteFile):
    """One connection to the file of a home. Belongs to the thread that opened it."""

    def __init__(self, home: str) -> None:
        """Open or make the file. Raises a fault when it is not ours alone."""
        path = os.path.join(home, FOLDER, FILE)
        super().__init__(path, steps=_STEPS, busy_s=_BUSY_S, failure=unusable)


def trouble_with(home: str) -> tuple[str, str]:
    """What is wrong with the file of a home that has one, and what to do; changes nothing."""
    path = os.path.join(home, FOLDER, FILE)
    away = f"mv {shlex.quote(path)} {shlex.quote(path + '.away')}, which leaves its runs behind"
    try:
        version = schema_version(path, busy_s=_BUSY_S)
    except sqlite3.Error as error:
        return f"runs cannot be read ({error})", f"switchboard daemon stop, then {away}"
    if _room(path) < _LEAST_ROOM:
        why = "the disk is full: no run is started, and the ends of runs are not written"
        return why, f"make room where {shlex.quote(path)} lies"
    if version > len(_STEPS):
        why = f"runs were written by a newer Switchboard (version {version}, we know {len(_STEPS)})"
        return why, f"update Switchboard, or: switchboard daemon stop, then {away}"
    return "", ""


def _room(path: str) -> int:
    """How many bytes a file can grow by."""
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize


def unusable(why: str) -> Fault:
    """The fault of whoever needs runs while they can be neither read nor written."""
    if any(words in why for words in _FULL):
        return Fault(
            FaultCode.UNAVAILABLE,
            "disk-full",
            "the disk is full, so runs cannot be written and no agent is started",
            hint="make room on the disk of Switchboard's home, then give the task again",
            private=why,
        )
    return Fault(
        FaultCode.UNAVAILABLE,
        "runs-unavailable",
        "runs cannot be read or written now, so no agent is started",
        hint="switchboard doctor",
        private=why,
    )
