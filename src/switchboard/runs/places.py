"""Where runs lie. Light: a daemon looks there at its start."""

import os

FOLDER = "state"
FILE = "runs.db"
# The engine's own, beside it.
ENGINE_FILE = "runs-engine.db"


def has_runs(home: str) -> bool:
    """Whether a run was ever started in this home."""
    return os.path.exists(os.path.join(home, FOLDER, FILE))
