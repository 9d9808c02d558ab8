"""Variables: what services, hooks and the supervisor inherit from whoever asked for them."""

import os
from collections.abc import Mapping
from pathlib import Path

OWN_PREFIX = "SWITCHYARD"
KEPT = ("SWITCHYARD_HOME",)


def base_environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the caller has, without the marks of a run it may itself be part of."""
    return {key: one for key, one in given.items() if not key.startswith(OWN_PREFIX) or key in KEPT}


def on_path(program: str, path: str) -> str | None:
    """Where a program is found. Lighter than `shutil`, which brings three compressors along."""
    for folder in path.split(os.pathsep):
        found = Path(folder or ".") / program
        if found.is_file() and os.access(found, os.X_OK):
            return str(found)
    return None
