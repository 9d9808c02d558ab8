"""Where the keys of a TOML text stand. A scanner, not a parser: the text is known to be valid.

The parser of the standard library tells where a text is broken, but not where a key is.
"""

import re
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
