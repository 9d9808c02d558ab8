"""Places in a text: where a key of the parsed tree was written."""

from typing import Any, Protocol, cast

from msgspec import Struct

# The way from the root of a tree to a value: names of members and indexes of items.
KeyPath = tuple[str | int, ...]
# So many places are counted from the start of the text. For more the lines are counted once, or a
# file with many problems would be counted through for each.
_FEW = 32


class Spot(Struct, frozen=True):
    """A line and a column, both from 1. A `near` spot is a good guess."""

    line: int
    column: int
    near: bool = False


class Spots(Protocol):
    """Finds the place of a key, or of the nearest thing around it that has one."""

    def find(self, path: KeyPath) -> Spot: ...


class OffsetSpots:
    """Offsets of keys and items, kept per container; lines are counted only when asked for.

    The table is keyed by the identity of the containers in `tree`, which this object keeps alive.
    """

    def __init__(self, text: str, tree: Any, table: dict[int, dict[Any, int]]) -> None:
        self._text = text
        self._found = 0
        self._lines: list[int] | None = None
        self._tree = tree
        self._table = table

    def find(self, path: KeyPath) -> Spot:
        value, offset = self._tree, -1
        for step in path:
            found = self._table.get(id(value), {}).get(step)
            if found is None:
                break
            offset = found
            value = value[step]
        if offset < 0:
            return spot_at(self._text, _start(self._text))
        self._found += 1
        if self._found <= _FEW:
            return spot_at(self._text, offset)
        return self._from_table(offset)

    def _from_table(self, offset: int) -> Spot:
        from bisect import bisect_left  # noqa: PLC0415 - few files have that much to tell

        if self._lines is None:
            self._lines = [at for at, letter in enumerate(self._text) if letter == "\n"]
        line = bisect_left(self._lines, offset)
        return Spot(line + 1, offset - (self._lines[line - 1] if line else -1))


def spot_at(text: str, offset: int, *, near: bool = False) -> Spot:
    """The line and column of an offset."""
    return Spot(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset), near)


def is_deeper(tree: Any, most: int) -> bool:
    """Whether something is nested deeper than that, found without recursion."""
    level = [tree]
    for _ in range(most):
        inside: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inside += cast("dict[str, Any]", each).values()
            elif isinstance(each, list):
                inside += cast("list[Any]", each)
        if not inside:
            return False
        level = inside
    return True


def dotted(path: KeyPath) -> str:
    """The path as people write it: `mcpServers.github.args[1]`."""
    words: list[str] = []
    for step in path:
        if isinstance(step, int) and words:
            words[-1] += f"[{step}]"
        else:
            words.append(str(step))
    return ".".join(words)


def _start(text: str) -> int:
    return len(text) - len(text.lstrip())
