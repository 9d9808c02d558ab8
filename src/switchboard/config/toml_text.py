"""TOML with the places of its keys.

`tomllib` tells where a text is broken but not where a key stands, so the places of keys are looked
for by their headers and names, only when a problem or an origin asks. What is not written there has
the place of what is around it, and that is called "near".
"""

import re
from typing import Any

from switchboard.config.key_positions import KeyPath, Spot, is_deeper, spot_at
from switchkit.toml.positions import Statement, Values, by_place, nearest, statements

# Compiled on first use: most TOML is valid.
_AGAIN = "Cannot overwrite a value"
_AT = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"


# A key of many parts takes the parser a time that grows with their square, and what is nested deep
# takes the stack of everybody who goes through it. Nobody writes either.
_MOST_PARTS = 32
_MOST_DEPTH = 64
# A string without an end is its own kind, for it takes the rest of the line.
_STRING = r'("(?:[^"\\]++|\\.)*+"|\'[^\']*+\')|["\'].*'
_PIECE = r"[^=,{}\[\]#]+"


class TomlInvalid(Exception):
    """The text is not TOML."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def read_toml(text: str) -> tuple[dict[str, Any], "TomlSpots"]:
    """The tree of a TOML text and the places of its keys."""
    # Late on purpose: tomllib takes longer to import than all our files take to read, and most
    # workspaces have no TOML.
    import tomllib  # noqa: PLC0415

    if text.startswith("\ufeff"):
        raise TomlInvalid("the file begins with a byte order mark", 1, 1)
    _check_keys(text)
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise TomlInvalid("the value is nested too deep", 1, 1) from None
    except ValueError as refused:
        words = str(refused)
        at = re.search(_AT, words)
        message = words[: at.start()] if at else words
        message = "not valid TOML: " + message[:1].lower() + message[1:]
        if at and at[1] and words.startswith(_AGAIN) and (key := _key_at(text, int(at[1]))):
            message = f"not valid TOML: the key `{key}` is already there"
        if at and at[1]:
            raise TomlInvalid(message, int(at[1]), int(at[2])) from None
        spot = spot_at(text, len(text.rstrip()))
        raise TomlInvalid(message, spot.line, spot.column) from None
    if is_deeper(tree, _MOST_DEPTH):
        raise TomlInvalid("the value is nested too deep", 1, 1)
    return tree, TomlSpots(text)


def _key_at(text: str, line: int) -> str:
    """The key that is written in a line; nothing if none is."""
    key, is_key, _ = text.split("\n")[line - 1].partition("=")
    return key.strip() if is_key else ""


def _check_keys(text: str) -> None:
    """Refuse a key of too many parts before the parser sees it."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") < _MOST_PARTS:
            continue
        plain = re.sub(_STRING, lambda found: "q" * len(found[1]) if found[1] else found[0], line)
        for piece in re.finditer(_PIECE, plain):
            parts = [part.strip() for part in piece[0].split(".")]
            is_key = plain[piece.end() : piece.end() + 1] in ("=", "]")
            # Words with blanks in them are text of a string that has more lines.
            if (
                is_key
                and len(parts) > _MOST_PARTS
                and all(part.split() == [part] for part in parts)
            ):
                message = f"a key has more than {_MOST_PARTS} parts"
                raise TomlInvalid(message, number, piece.start() + 1)


class TomlSpots:
    """Finds a key, or falls back to what is around it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[KeyPath, Statement] | None = None
        self._values: Values | None = None

    def find(self, path: KeyPath) -> Spot:
        """The place of the longest part of the path that can be found."""
        if self._found is None:
            self._found = by_place(statements(self._text))
        best = nearest(self._found, path)
        if best is None:
            return Spot(1, 1, near=True)
        known = best.place if path[: len(best.place)] == best.place else (*best.table, *best.key)
        if known == path:
            return Spot(best.first, best.column)
        if best.is_header:
            return Spot(best.first, best.column, near=True)
        if self._values is None:
            self._values = Values(self._text)
        inside = self._values.find(best, path[len(known) :])
        return Spot(*inside) if inside else Spot(best.first, best.column, near=True)
