"""The files that a service is watched for: which they are, and which of them changed."""

import contextlib
import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

Stamp = tuple[int, int, int]
Snapshot = Mapping[str, Stamp]

MOST_FILES = 20_000
# Never looked into because of a wildcard: they are large, and what is in them is made by tools.
_SKIPPED = (".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".cache", "target")


class _Pattern:
    """One pattern, in the parts of its path. A set of places in it is what a folder still fits."""

    def __init__(self, text: str) -> None:
        self._parts = text.split("/")

    def begin(self) -> set[int]:
        return self._closed({0})

    def into(self, places: set[int], name: str) -> set[int]:
        """Where the pattern stands after one more name."""
        after: set[int] = set()
        for place in places:
            if place >= len(self._parts):
                after.add(place)  # what is named is a folder: everything below it is meant
            elif self._parts[place] == "**":
                after.add(place)
            elif fnmatchcase(name, self._parts[place]):
                after.add(place + 1)
        return self._closed(after)

    def names(self, places: set[int], name: str) -> bool:
        """Whether a folder is meant by its own name, not by a wildcard."""
        return any(place < len(self._parts) and self._parts[place] == name for place in places)

    def fits(self, places: set[int]) -> bool:
        return len(self._parts) in places

    def _closed(self, places: set[int]) -> set[int]:
        """`**` may stand for no folder at all."""
        made = set(places)
        for place in sorted(places):
            at = place
            while at < len(self._parts) and self._parts[at] == "**":
                at += 1
                made.add(at)
        return made


class WatchedFiles:
    """The files below a folder that patterns name; those with a leading `!` take files out."""

    def __init__(self, folder: Path, patterns: Iterable[str]) -> None:
        self._folder = folder
        given = [one.removesuffix("/") for one in patterns]
        self._wanted = [_Pattern(one) for one in given if not one.startswith("!")]
        self._left_out = [_Pattern(one[1:]) for one in given if one.startswith("!")]

    def look(self) -> Snapshot:
        """Each file with what tells that it was written: at most `MOST_FILES` of them."""
        made: dict[str, Stamp] = {}
        first = [(one, one.begin()) for one in (*self._wanted, *self._left_out)]
        queue = [("", first)]
        while queue and len(made) < MOST_FILES:
            below, states = queue.pop()
            with contextlib.suppress(OSError), os.scandir(self._folder / below) as entries:
                for entry in entries:
                    after = [(one, one.into(at, entry.name)) for one, at in states]
                    path = f"{below}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if self._enters(entry.name, states, after):
                            queue.append((f"{path}/", after))
                    elif self._means(after):
                        with contextlib.suppress(OSError):
                            found = entry.stat()
                            made[path] = found.st_mtime_ns, found.st_size, found.st_ino
        return made

    def _enters(
        self,
        name: str,
        before: list[tuple[_Pattern, set[int]]],
        after: list[tuple[_Pattern, set[int]]],
    ) -> bool:
        wanted = range(len(self._wanted))
        if name in _SKIPPED and not any(before[n][0].names(before[n][1], name) for n in wanted):
            return False
        return any(after[n][1] for n in wanted)

    def _means(self, after: list[tuple[_Pattern, set[int]]]) -> bool:
        wanted = len(self._wanted)
        return any(one.fits(at) for one, at in after[:wanted]) and not any(
            one.fits(at) for one, at in after[wanted:]
        )


def changed_files(before: Snapshot, after: Snapshot) -> list[str]:
    """Files that were written, made or removed between two looks."""
    names = before.keys() | after.keys()
    return sorted(name for name in names if before.get(name) != after.get(name))
