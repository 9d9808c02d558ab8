"""Paths among arguments that lead elsewhere than they say."""

# Strings of other programs, not paths of ours.

import os
from collections.abc import Iterator
from typing import Any, cast

from switchboard.core.strict import Number

# The kernel takes no longer one.
_MAX_PATH = 4_096
# More than fit into arguments that a person can review.
_MAX_TEXTS = 2_048
_FILE_URL = "file://"
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
            real = os.path.realpath(named)
        except OSError:
            continue
        if real != os.path.normpath(named):
            found[text] = real
    return found


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
