"""Where the program of an engine is, and what it says of itself."""

import asyncio
import os
import re
import shutil
from collections.abc import Mapping, Sequence

from switchboard.procs.trial import Trial, trial
from switchkit.commands import search_path

_PATIENCE_S = 20.0
_VERSION = re.compile(r"(?<!\d)(\d{1,9}+)\.(\d{1,9}+)\.(\d{1,9}+)")


async def find_program(name: str, env: Mapping[str, str]) -> str:
    """The path of a program by its name or path; empty when there is none that can be run."""
    return await asyncio.to_thread(_find, name, env)


def _find(name: str, env: Mapping[str, str]) -> str:
    if os.sep in name:
        path = os.path.expanduser(name)
        return path if os.path.isfile(path) and os.access(path, os.X_OK) else ""
    return shutil.which(name, path=search_path(env.get("PATH", os.defpath)) or os.defpath) or ""


async def ask_program(argv: Sequence[str], env: Mapping[str, str]) -> Trial:
    """Run a program that answers at once. One that cannot be started has no status."""
    try:
        return await asyncio.to_thread(trial, argv, timeout_s=_PATIENCE_S, env=env)
    except OSError as error:
        return Trial(status=None, stderr=str(error))


def version_in(text: str) -> tuple[int, int, int] | None:
    """The first version that a text names."""
    found = _VERSION.search(text)
    if found is None:
        return None
    first, second, third = (int(part) for part in found.groups())
    return first, second, third
