"""Where the keys of a TOML text stand. A scanner, not a parser: the text is known to be valid.

The parser of the standard library tells where a text is broken, but not where a key is.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

# Compiled on first use: most workspaces have no TOML, and most TOML has no problems.
_NAME = r"""(?:"[^"\n]*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
_KEY = rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*="
_HEADER = r"\s*(\[\[?)([^\]]+)\]\]?\s*(?:#.*)?$"
_PART = r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)"""
# What has no end takes the rest of its line, or of the text: nothing is looked at twice.
_STRING_OR_COMMENT = (
    r'"""(?:[^"\\]++|\\(?s:.)|"(?!""))*+"{0,5}+'
    r"|'''(?:[^']++|'(?!''))*+'{0,5}+"
    r'|"(?:[^"\\\n]++|\\.)*+"?+'
    r"|'[^'\n]*+'?+"
    r"|#[^\n]*+"
)

# The place of the value of `a` where only `a.b` is written: no text has a letter there.
_NO_VALUE = -1

Path = tuple[str, ...]
# With the index of each item of an array of tables.
Place = tuple[str | int, ...]


class Statement(NamedTuple):
    """One header, or one key with its value: its table, its name, and its lines (from 1)."""

    table: Path
    key: Path
    place: Place
    first: int
    last: int
    column: int

    @property
    def is_header(self) -> bool:
        """Whether it opens a table."""
        return not self.key


def statements(text: str) -> list[Statement]:
    """Every header and every key that starts a line, in the order of the text."""
    made: list[Statement] = []
    table: Path = ()
    place: Place = ()
    items: dict[Place, int] = {}
    depth = 0
    lines = zip(_blanked(text, but_names=True), _blanked(text, but_names=False), strict=True)
    for number, (line, rest) in enumerate(lines, 1):
        if depth == 0:
            if header := re.match(_HEADER, line):
                table = _parts(header[2])
                place = _placed(table, items)
                if header[1] == "[[":
                    items[place] = items.get(place, -1) + 1
                    place = (*place, items[place])
                made.append(Statement(table, (), place, number, number, header.start(1) + 1))
                continue
            if key := re.match(_KEY, line):
                names = _parts(key[1])
                at = (*place, *names)
                made.append(Statement(table, names, at, number, number, key.start(1) + 1))
                rest = rest[key.end() :]  # noqa: PLW2901 - what is left of the same line
        elif made:
            made[-1] = made[-1]._replace(last=number)
        depth = max(0, depth + sum(rest.count(c) for c in "[{") - sum(rest.count(c) for c in "]}"))
    return made


def by_place(found: list[Statement]) -> dict[Place, Statement]:
    """The first statement of each place. One without indexes is in the first item of an array."""
    places: dict[Place, Statement] = {}
    for one in found:
        places.setdefault(one.place, one)
        places.setdefault((*one.table, *one.key), one)
    return places


def nearest(found: dict[Place, Statement], path: Place) -> Statement | None:
    """The first statement of the longest part of the path that stands in the text."""
    for length in range(len(path), 0, -1):
        if (one := found.get(path[:length])) is not None:
            return one
    return None


class Values:
    """What lies in the values of a text. Every part of it is looked at once, however many ask."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Of the same length, so that places in it are places in the text.
        self._masked = re.sub(_STRING_OR_COMMENT, _masked, text)
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self._items: dict[int, list[int]] = {}
        self._members: dict[int, dict[Place, tuple[int, int]]] = {}

    def find(self, statement: Statement, path: Place) -> tuple[int, int] | None:
        """Line and column of a member or an item of the value of a key, or of what is deeper."""
        begins = self._lines[statement.first - 1]
        at = self._offset(self._masked.find("=", begins) + 1, path)
        if at < 0:
            return None
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def _offset(self, at: int, path: Place) -> int:
        while self._masked[at : at + 1].isspace():
            at += 1
        step = path[0]
        opening = self._masked[at : at + 1]
        if isinstance(step, int):
            items = self._items_at(at) if opening == "[" else []
            if step >= len(items):
                return -1
            return items[step] if len(path) == 1 else self._offset(items[step], path[1:])
        members = self._members_at(at) if opening == "{" else {}
        for length in range(len(path), 0, -1):
            if (found := members.get(path[:length])) is not None:
                start, value = found
                return start if length == len(path) else self._offset(value, path[length:])
        return -1

    def _items_at(self, at: int) -> list[int]:
        if (known := self._items.get(at)) is None:
            known = self._items[at] = [start for start, _ in _entries(self._masked, at)]
        return known

    def _members_at(self, at: int) -> dict[Place, tuple[int, int]]:
        """Where each name begins, and its value: `a.b = 1` is found by `a` and by `a.b`."""
        known = self._members.get(at)
        if known is None:
            known = self._members[at] = {}
            for start, end in _entries(self._masked, at):
                equals = self._masked.find("=", start, end)
                names = _parts(self._text[start:equals]) if equals > 0 else ()
                for length in range(1, len(names)):
                    known.setdefault(names[:length], (start, _NO_VALUE))
                if names:
                    known[names] = (start, equals + 1)
        return known


def _entries(masked: str, at: int) -> Iterator[tuple[int, int]]:
    """Where the items of an array or the members of an inline table begin and end."""
    depth, begun = 0, -1
    for place in range(at, len(masked)):
        letter = masked[place]
        depth += (letter in "[{") - (letter in "]}")
        if begun >= 0 and (depth == 0 or (depth == 1 and letter == ",")):
            yield begun, place
            begun = -1
        elif begun < 0 and place > at and depth and not letter.isspace() and letter != ",":
            begun = place
        if depth == 0:
            return


def _masked(match: re.Match[str]) -> str:
    return (" " if match[0].startswith("#") else "x") * len(match[0])


def _parts(dotted: str) -> Path:
    return tuple(a or b or c for a, b, c in re.findall(_PART, dotted))


def _placed(table: Path, items: dict[Place, int]) -> Place:
    """`[servers.auth]` after a second `[[servers]]` means `servers[1].auth`."""
    place: Place = ()
    for position, part in enumerate(table, 1):
        place = (*place, part)
        if place in items and position < len(table):
            place = (*place, items[place])
    return place


def _blanked(text: str, *, but_names: bool) -> list[str]:
    """The lines with comments and strings blanked, but for strings that may be names of keys."""
    # Up to where the text was looked at, and whether its line has had an `=` by then.
    looked, is_value = 0, False

    def blank(match: re.Match[str]) -> str:
        nonlocal looked, is_value
        line_end = text.rfind("\n", looked, match.start())
        is_value = is_value and line_end < 0
        is_value = is_value or text.find("=", max(looked, line_end), match.start()) >= 0
        looked = match.start()
        is_name = but_names and not is_value and not match[0].startswith("#")
        return match[0] if is_name else re.sub(r"[^\n]", " ", match[0])

    return re.sub(_STRING_OR_COMMENT, blank, text).split("\n")
