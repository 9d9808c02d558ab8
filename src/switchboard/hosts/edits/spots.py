"""Where values and comments stand in a text of JSON or TOML: all but keys, signs and blanks."""

import json
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.hosts.edits.unfit import UnfitFile

Path = tuple[str | int, ...]

# Whatever is none of the known kinds counts as a value.
_JSON = re.compile(
    r'(?P<blank>[\ufeff \t\r\n]++)|(?P<sign>[{}\[\],:])|(?P<text>"(?:[^"\\]++|\\(?s:.))*+"?+)'
    r"|(?P<comment>//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+)"
    r'|(?P<word>[^\ufeff \t\r\n{}\[\],:"/]++|(?s:.))'
)
_TOML = re.compile(
    r"(?P<blank>[\ufeff \t\r]++)|(?P<line>\n)|(?P<sign>[\[\]{},=])|(?P<comment>#[^\n]*+)"
    r'|(?P<text>"""(?:[^"\\]++|\\(?s:.)|"(?!""))*+"{0,5}+'
    r"|'''(?:[^']++|'(?!''))*+'{0,5}+"
    r'|"(?:[^"\\\n]++|\\.)*+"?+'
    r"|'[^'\n]*+'?+)"
    r"|(?P<word>[^\ufeff\s\[\]{},=#\"']++|(?s:.))"
)


class ValueSpot(Struct, frozen=True):
    """A value with the keys that lead to it, or a comment, which has none."""

    start: int
    end: int
    path: Path = ()
    is_comment: bool = False


class _Level(Struct):
    is_list: bool
    key: str | int
    has_key: bool = False


def json_spots(text: str) -> Iterator[ValueSpot]:
    """The values and comments of JSON, in their order."""
    levels: list[_Level] = []
    for found in _JSON.finditer(text):
        kind, word = found.lastgroup, found[0]
        top = levels[-1] if levels else None
        if kind == "comment":
            yield ValueSpot(*found.span(), is_comment=True)
        elif kind == "sign":
            if word in "{[":
                levels.append(_Level(word == "[", 0 if word == "[" else ""))
            elif word in "}]":
                levels = levels[:-1]
            elif top is not None:
                top.has_key = word == ":"
                if word == "," and isinstance(top.key, int):
                    top.key += 1
        elif kind == "text" and top is not None and not top.is_list and not top.has_key:
            top.key = _unquoted(word)
        elif kind != "blank":
            yield ValueSpot(*found.span(), tuple(each.key for each in levels))


def toml_spots(text: str) -> Iterator[ValueSpot]:
    """The values and comments of TOML, in their order. Raises `UnfitFile`."""
    return _Toml(text).spots()


class _Toml:
    def __init__(self, text: str) -> None:
        self._found = [each for each in _TOML.finditer(text) if each.lastgroup != "blank"]
        self._at = 0

    def spots(self) -> Iterator[ValueSpot]:
        table: Path = ()
        while (found := self._next()) is not None:
            if found.lastgroup == "comment":
                yield ValueSpot(*found.span(), is_comment=True)
            elif found[0] == "[":
                table = self._names("]")
                # A table of a list has two of them.
                if self._peek() == "]":
                    self._at += 1
            elif found.lastgroup != "line":
                self._at -= 1
                path = (*table, *self._names("="))
                yield from self._value(path)
                while self._peek() not in {"", "\n"}:
                    yield from self._value(path)

    def _next(self) -> re.Match[str] | None:
        if self._at >= len(self._found):
            return None
        self._at += 1
        return self._found[self._at - 1]

    def _peek(self) -> str:
        return self._found[self._at][0] if self._at < len(self._found) else ""

    def _names(self, end: str) -> Path:
        """The parts of a key, up to the sign behind it."""
        names: list[str] = []
        while (found := self._next()) is not None and found[0] != end:
            if found.lastgroup == "word":
                names += [each for each in found[0].split(".") if each]
            elif found.lastgroup == "text":
                names.append(_unquoted(found[0]))
            elif found[0] != "[":
                break
        if found is None or found[0] != end:
            raise UnfitFile("a key has no value")
        return tuple(names)

    def _value(self, path: Path) -> Iterator[ValueSpot]:
        found = self._next()
        if found is None:
            raise UnfitFile("a key has no value")
        if found.lastgroup == "comment":
            yield ValueSpot(*found.span(), is_comment=True)
        elif found[0] == "[":
            yield from self._items(path)
        elif found[0] == "{":
            yield from self._members(path)
        elif found.lastgroup != "line":
            yield ValueSpot(*found.span(), path)

    def _items(self, path: Path) -> Iterator[ValueSpot]:
        at = 0
        while self._peek() not in {"", "]"}:
            if self._peek() == ",":
                at += 1
                self._at += 1
            else:
                yield from self._value((*path, at))
        self._at += 1

    def _members(self, path: Path) -> Iterator[ValueSpot]:
        while self._peek() not in {"", "}"}:
            if self._peek() in {",", "\n"}:
                self._at += 1
                continue
            inner = (*path, *self._names("="))
            yield from self._value(inner)
            while self._peek() not in {"", ",", "}"}:
                yield from self._value(inner)
        self._at += 1


def _unquoted(word: str) -> str:
    if not word.startswith('"'):
        return word.strip("'")
    try:
        return str(json.loads(word))
    except ValueError:
        # An escape that only TOML has; no key that is looked for has one.
        return word


def ordered(spots: Sequence[ValueSpot]) -> list[ValueSpot]:
    """The spots by their places, none within another."""
    found: list[ValueSpot] = []
    for each in sorted(spots, key=lambda spot: (spot.start, spot.end)):
        if not found or each.start >= found[-1].end:
            found.append(each)
    return found
