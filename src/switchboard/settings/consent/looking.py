"""What one look at a workspace may cost: a clone decides how much there is to be looked through.

Every name that is looked up, every step of a path and every byte that is read counts. The kernel is
asked for paths without links only: one name may otherwise lead through thousands of folders.
"""

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from switchkit.platform.paths import spelled

T = TypeVar("T")

# Each takes less than half a second of processor time.
_MOST_NAMES = 100_000
_MOST_BYTES = 128 << 20
# As many as the kernel follows.
_MOST_LINKS = 40


class Unbound(Exception):
    """What is to be told apart holds more than can be looked at."""


class Look:
    """One look at a workspace: what is left of its budget, and what it has found out already."""

    def __init__(self) -> None:
        self._names = _MOST_NAMES
        self._bytes = _MOST_BYTES
        # By kind and by what was looked at; a reason in the place of what could not be told.
        self.known: dict[tuple[Any, ...], Any] = {}

    def count(self, names: int = 1) -> None:
        """Names, or steps of a path. Raises `Unbound` from the first that is too much."""
        self._names -= names
        if self._names < 0:
            raise Unbound

    def read(self, size: int) -> None:
        """Bytes that are about to be read. Raises `Unbound`."""
        self._bytes -= size
        if self._bytes < 0:
            # What comes later is not looked at in part.
            self._names = 0
            raise Unbound


_current: ContextVar[Look | None] = ContextVar("look", default=None)


@contextmanager
def one_look() -> Generator[Look]:
    """Whatever is looked at within shares one budget. Not to be held while anybody is asked."""
    known = _current.get()
    if known is not None:
        yield known
        return
    token = _current.set(look := Look())
    try:
        yield look
    finally:
        _current.reset(token)


def looking() -> Look:
    """The look that is under way; one of its own for who asks outside of any."""
    return _current.get() or Look()


def counted(found: Iterable[T]) -> Iterator[T]:
    """Each of them, counted. Raises `Unbound`."""
    look = looking()
    for each in found:
        look.count()
        yield each


def resolved(path: str) -> str:
    """Where an absolute path leads, as `true_path` says it. Raises `Unbound`."""
    look, links = looking(), 0
    at, left = os.sep, path.split(os.sep)[::-1]
    while left:
        part = left.pop()
        look.count()
        if part in ("", "."):
            continue
        if part == "..":
            at = os.path.dirname(at)
            continue
        here = os.path.join(at, part)
        try:
            target = os.readlink(here)
        except (OSError, ValueError):
            at = here
            continue
        links += 1
        if links > _MOST_LINKS:
            # As it is: the kernel will not follow it either.
            return os.path.join(here, *left[::-1])
        if target.startswith(os.sep):
            at = os.sep
        left += target.split(os.sep)[::-1]
    return spelled(at)


def reached(path: str) -> str:
    """The path with its folder resolved, its last part as it is. Raises `Unbound`."""
    folder, name = os.path.split(path)
    if name in ("", ".", ".."):
        return resolved(path)
    look = looking()
    look.count()
    place = look.known.get(("place", folder))
    if place is None:
        place = look.known["place", folder] = resolved(folder)
    return os.path.join(place, name)


def landed(path: str) -> str:
    """Where a path leads, for many paths of the same folder. Raises `Unbound`."""
    place = reached(path)
    try:
        target = os.readlink(place)
    except (OSError, ValueError):
        return place
    return resolved(os.path.join(os.path.dirname(place), target))


def names_in(folder: str) -> list[str]:
    """The names in a folder, in their order; none where it cannot be read. Raises `Unbound`."""
    look, place = looking(), resolved(folder)
    known: list[str] | None = look.known.get(("names", place))
    if known is None:
        names: list[str] = []
        with suppress(OSError, ValueError), os.scandir(place) as found:
            names += (each.name for each in counted(found))
        known = look.known["names", place] = sorted(names)
    look.count(len(known))
    return known
