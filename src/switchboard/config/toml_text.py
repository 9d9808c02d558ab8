"""TOML with best-effort positions.

`tomllib` tells where a text is broken but not where a key stands, so the places of keys are looked
for by their headers and names, only when a problem or an origin asks. They are called "near".
"""

import re
from typing import Any

from switchboard.config.spots import KeyPath, Spot, spot_at

# Compiled on first use: most workspaces have no TOML, and most TOML has no problems.
_AT = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"
_HEADER = r"(?m)^[ \t]*(\[\[?)[ \t]*([^\]\n]+?)[ \t]*\]\]?[ \t]*(?:#.*)?$"
_PART = r"""[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*(\.|$)"""


class TomlInvalid(Exception):  # noqa: N818 - named like the other refusals of this package
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
    """Finds the header and then the key; falls back to what is around it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._headers: list[tuple[KeyPath, int, int]] | None = None

    def find(self, path: KeyPath) -> Spot:
        """The place of the longest part of the path that can be found."""
        best, best_length = 0, -1
        for prefix, start, end in self._tables():
            if prefix != path[: len(prefix)]:
                continue
            if len(prefix) > best_length:
                best, best_length = start, len(prefix)
            for length in range(len(path), len(prefix), -1):
                if length <= best_length:
                    break
                offset = self._key(path[len(prefix) : length], end)
                if offset is not None:
                    best, best_length = offset, length
                    break
        return spot_at(self._text, best, near=True)

    def _tables(self) -> list[tuple[KeyPath, int, int]]:
        """Each table's path, the start of its header, and the end of its header."""
        if self._headers is None:
            counts: dict[KeyPath, int] = {}
            self._headers = [((), 0, 0)]
            for found in re.finditer(_HEADER, self._text):
                path: KeyPath = _indexed(_parts(found[2]), counts)
                if found[1] == "[[":
                    counts[path] = counts.get(path, -1) + 1
                    path = (*path, counts[path])
                self._headers.append((path, found.start(1), found.end()))
        return self._headers

    def _key(self, names: KeyPath, start: int) -> int | None:
        following = re.compile(_HEADER).search(self._text, start)
        end = following.start() if following else len(self._text)
        spelled = r"[ \t]*\.[ \t]*".join(
            rf"""(?:"{re.escape(str(name))}"|'{re.escape(str(name))}'|{re.escape(str(name))})"""
            for name in names
        )
        found = re.compile(rf"^[ \t]*({spelled})[ \t]*=", re.MULTILINE).search(
            self._text, start, end
        )
        return found.start(1) if found else None


def _parts(header: str) -> tuple[str, ...]:
    parts: list[str] = []
    at = 0
    while found := re.compile(_PART).match(header, at):
        parts.append(found[1] or found[2] or found[3] or "")
        at = found.end()
        if not found[4]:
            break
    return tuple(parts)


def _indexed(parts: tuple[str, ...], counts: dict[KeyPath, int]) -> KeyPath:
    """`[servers.auth]` after a second `[[servers]]` means `servers[1].auth`."""
    path: KeyPath = ()
    for position, part in enumerate(parts):
        path = (*path, part)
        if path in counts and position < len(parts) - 1:
            path = (*path, counts[path])
    return path
