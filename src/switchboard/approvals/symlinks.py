"""Paths among arguments that lead elsewhere than they say, or out of where the call is made."""

# Strings of other programs, not paths of ours.

import os
from collections.abc import Iterator
from typing import Any, cast

from switchboard.core.text.strict import Number
from switchkit.platform.paths import true_path

# The kernel takes no longer one.
_MAX_PATH = 4_096
# More than fit into arguments that a person can review.
_MAX_TEXTS = 2_048
_FILE_URL = "file://"
_ELSEWHERE = ("/", "../", "~/")
# Where the system keeps its programs and libraries, much of it behind links of its own: a shell is
# named `/bin/sh` wherever it lies. Nobody but root can make a link there.
_SYSTEM = ("/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/usr/")


def links_in(arguments: Any, cwd: str) -> dict[str, str]:
    """Every text that, taken as a path from `cwd`, goes through a link, and where it ends.

    A text that is no path goes through none, so it needs no guess what a text means.
    """
    found: dict[str, str] = {}
    for count, text in enumerate(_texts(arguments)):
        if count >= _MAX_TEXTS:
            break
        path = text.removeprefix(_FILE_URL)
        if not path or len(path) > _MAX_PATH or "\0" in path:
            continue
        named = os.path.join(cwd, path)
        try:
            # As it is written: `link/..` is the folder above what the link leads to.
            real = true_path(named)
        except OSError:
            continue
        if real != os.path.normpath(named):
            found[text] = real
    return found


def outside(arguments: Any, cwd: str, workspace: str) -> tuple[str, ...]:
    """Every text that is a path out of the folder and of the workspace, as it is written.

    One that begins at the root is a path if something of its first name is there: `/repos/x` may
    be anything.
    """
    within = tuple(f"{true_path(each)}/" for each in (cwd, workspace) if each)
    found: dict[str, None] = {}
    for count, text in enumerate(_texts(arguments)):
        path = text.removeprefix(_FILE_URL)
        if count >= _MAX_TEXTS:
            break
        if not path.startswith(_ELSEWHERE) or len(path) > _MAX_PATH or "\0" in path:
            continue
        if path.startswith("/") and not _begins_here(path):
            continue
        named = path if path.startswith("~") else os.path.normpath(os.path.join(cwd, path))
        if not f"{named}/".startswith(within):
            found[text] = None
    return tuple(found)


def _begins_here(path: str) -> bool:
    first = path.lstrip("/").partition("/")[0]
    try:
        return os.path.lexists(f"/{first}")
    except OSError:
        return False


def is_of_the_system(path: str, real: str) -> bool:
    """Whether a path leads from one folder of the system to another, as all of them know it."""
    return os.path.normpath(path).startswith(_SYSTEM) and real.startswith(_SYSTEM)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _texts(inner)
    elif isinstance(value, str) and not isinstance(value, Number):
        yield value
