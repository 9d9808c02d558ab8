"""Where runs lie. Light: a daemon looks there at its start."""

import contextlib
import os

FOLDER = "state"
FILE = "runs.db"
# The engine's own, beside it.
ENGINE_FILE = "runs-engine.db"


def has_runs(home: str) -> bool:
    """Whether a run was ever started in this home."""
    return os.path.exists(os.path.join(home, FOLDER, FILE))


def has_unfinished(home: str, workspace: str) -> bool:
    """Whether a run of a workspace has not ended, in whichever process. Blocks for a moment."""
    if not has_runs(home):
        return False
    # Few homes have runs, and fewer have one that a daemon left.
    import sqlite3  # noqa: PLC0415

    path = os.path.join(home, FOLDER, FILE)
    wanted = "SELECT 1 FROM runs WHERE workspace = ? AND ended_at = 0 LIMIT 1"
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=1)) as connection:
            return connection.execute(wanted, (workspace,)).fetchone() is not None
    except sqlite3.Error:
        # Whoever asks for runs is told what is wrong with them.
        return False
