"""TOML with best-effort positions.

`tomllib` tells where a text is broken but not where a key stands, so the places of keys are looked
for by their headers and names, only when a problem or an origin asks. They are called "near".
"""

import re
from typing import Any

from switchboard.config.key_positions import KeyPath, Spot, spot_at
from switchkit.toml_positions import Statement, nearest, statements

# Compiled on first use: most TOML is valid.
_AT = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"


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
    try:
        return tomllib.loads(text), TomlSpots(text)
    except RecursionError:
        raise TomlInvalid("the value is nested too deep", 1, 1) from None
    except ValueError as refused:
        words = str(refused)
        at = re.search(_AT, words)
        message = words[: at.start()] if at else words
        message = "not valid TOML: " + message[:1].lower() + message[1:]
        if at and at[1]:
            raise TomlInvalid(message, int(at[1]), int(at[2])) from None
        spot = spot_at(text, len(text.rstrip()))
        raise TomlInvalid(message, spot.line, spot.column) from None


class TomlSpots:
    """Finds a key, or falls back to what is around it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Statement] | None = None

    def find(self, path: KeyPath) -> Spot:
        """The place of the longest part of the path that can be found."""
        if self._found is None:
            self._found = statements(self._text)
        best = nearest(self._found, path)
        return Spot(1, 1, near=True) if best is None else Spot(best.first, best.column, near=True)
