"""Which path lies in which. All of them absolute and canonical."""

import os
from collections import deque
from collections.abc import Iterable, Iterator

from switchkit.platform.paths import spelled

_MOST_LINKS = 40


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_below(path: str, folder: str) -> bool:
    """Whether a path lies below a folder."""
    return path != folder and is_within(path, folder)


def is_led_through(path: str, folders: Iterable[str]) -> bool:
    """Whether the way to a path passes one of these folders, so that who writes there chooses it.

    The path may hold links, and need not be there.
    """
    folders = tuple(folders)
    return any(is_within(place, folder) for place in _way_to(path) for folder in folders)


def _way_to(path: str) -> Iterator[str]:
    """Every place that is looked at on the way to a path, links followed one by one."""
    here, left = os.sep, deque(path.split(os.sep))
    links = 0
    while left:
        name = left.popleft()
        if name == os.pardir:
            here = os.path.dirname(here)
        if name in {"", os.curdir, os.pardir}:
            continue
        here = os.path.join(here, name)
        try:
            target = os.readlink(here)
        except OSError:
            here = spelled(here)
            yield here
            continue
        yield here
        links += 1
        if links > _MOST_LINKS:
            # The system follows no more either.
            return
        here = os.sep if os.path.isabs(target) else os.path.dirname(here)
        left.extendleft(reversed(target.split(os.sep)))


def depth(path: str) -> int:
    """How many folders lead to it."""
    return 0 if path == os.sep else path.count(os.sep)
