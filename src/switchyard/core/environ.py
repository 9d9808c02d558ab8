"""Variables: what services, hooks and the supervisor inherit from whoever asked for them."""

import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

OWN_PREFIX = "SWITCHYARD"
KEPT = ("SWITCHYARD_HOME",)

T = TypeVar("T")
_caller: ContextVar[Mapping[str, str]] = ContextVar("caller")


def caller() -> Mapping[str, str]:
    """The variables of whoever asks: those of this process, unless it works for somebody else."""
    return _caller.get(os.environ)


def on_behalf_of(environ: Mapping[str, str], work: Callable[[], T]) -> T:
    """Do the work with these variables; the rest of this process keeps its own."""
    token = _caller.set(environ)
    try:
        return work()
    finally:
        _caller.reset(token)


def expanded(path: str) -> Path:
    """A path with the caller's own home for `~`."""
    home = caller().get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return Path(home + path[1:])
    return Path(path).expanduser()


def base_environment(given: Mapping[str, str]) -> dict[str, str]:
    """The caller's variables, without the marks of a run that the caller may be part of."""
    return {key: one for key, one in given.items() if not key.startswith(OWN_PREFIX) or key in KEPT}


def on_path(program: str, path: str) -> str | None:
    """Where a program is found. Lighter than `shutil`, which imports three compressors."""
    for folder in path.split(os.pathsep):
        found = f"{folder or '.'}{os.sep}{program}"
        if os.access(found, os.X_OK) and Path(found).is_file():
            return str(Path(found))
    return None
