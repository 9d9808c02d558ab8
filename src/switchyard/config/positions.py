"""Which line of a TOML text a key stands on. A scanner, not a parser: the text is known valid."""

import re
from typing import NamedTuple

_HEADER = re.compile(r"\s*\[(\[?)([^\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"""\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*="""
)
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")
_NOISE = re.compile(
    r'"""(?:.|\n)*?(?<!\\)"""|\'\'\'(?:.|\n)*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*'
)

Path = tuple[str, ...]


def _parts(dotted: str) -> Path:
    return tuple(a or b or c for a, b, c in _PART.findall(dotted))


def _without_values(text: str) -> list[str]:
    """The text with strings after `=` and comments blanked, line for line."""

    def blank(match: re.Match[str]) -> str:
        lead = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        is_key = "=" not in lead and "#" not in lead and not match[0].startswith("#")
        return match[0] if is_key else re.sub(r"[^\n]", " ", match[0])

    return _NOISE.sub(blank, text).split("\n")


class Statement(NamedTuple):
    """One header or one key with its value: its table, its name, and its lines (from 1)."""

    table: Path
    key: Path
    first: int
    last: int

    @property
    def is_header(self) -> bool:
        """Whether it opens a table."""
        return not self.key


def statements(text: str) -> list[Statement]:
    """Every header and every key that starts a line, in the order of the text."""
    made: list[Statement] = []
    table: Path = ()
    depth = 0
    for number, line in enumerate(_without_values(text), 1):
        rest = line
        if depth == 0:
            header = _HEADER.match(line)
            if header:
                table = _parts(header[2])
                made.append(Statement(table, (), number, number))
                continue
            key = _KEY.match(line)
            if key:
                made.append(Statement(table, _parts(key[1]), number, number))
                rest = line[key.end() :]
        elif made:
            made[-1] = made[-1]._replace(last=number)
        depth = max(0, depth + sum(rest.count(c) for c in "[{") - sum(rest.count(c) for c in "]}"))
    return made


def key_lines(text: str) -> dict[Path, int]:
    """The line (from 1) of every table header and every key that starts a line."""
    lines: dict[Path, int] = {}
    for one in statements(text):
        lines.setdefault(one.table + one.key, one.first)
    return lines


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of the key, or of the nearest thing that holds it."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return 1
