"""The shape of a value: names, kinds and counts, so that a model knows what it could ask for."""

from collections.abc import Iterator
from typing import Any, cast

_MOST_LETTERS = 600
_MOST_MEMBERS = 24
_MOST_NAME = 40
# How many items of an array are looked at; one shape is told of all of them.
_MOST_ITEMS = 50
_DEEPEST = 4


def shape_of(value: Any) -> str:
    """One line, with less of the depth the longer it would get."""
    for depth in range(_DEEPEST, 1, -1):
        text = _shape(value, depth)
        if len(text) <= _MOST_LETTERS:
            return text
    text = _shape(value, 1)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"


def _shape(value: Any, depth: int, *, is_one: bool = True) -> str:
    """`is_one`: whether it stands alone, so that its length says something."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        inside = ", ".join(_members(members, depth, is_one=is_one))
        return f"{{{inside}}}" if depth else f"{{{len(members):,} members}}"
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if not items:
            return "[]"
        kinds = dict.fromkeys(
            _shape(each, depth - 1, is_one=False) if depth else "…" for each in items[:_MOST_ITEMS]
        )
        inside = next(iter(kinds)) if len(kinds) == 1 else " | ".join(list(kinds)[:3])
        return f"[{len(items):,} of {inside}]"
    if isinstance(value, str):
        return f"string({len(value):,})" if is_one and len(value) > _MOST_NAME else "string"
    if isinstance(value, bool):
        return "boolean"
    return "null" if value is None else "number"


def _members(members: dict[str, Any], depth: int, *, is_one: bool) -> Iterator[str]:
    for number, (name, value) in enumerate(members.items()):
        if number == _MOST_MEMBERS:
            yield f"… {len(members) - number:,} more"
            return
        shown = name if len(name) <= _MOST_NAME else f"{name[:_MOST_NAME]}…"
        yield f"{' '.join(shown.split())}: {_shape(value, max(0, depth - 1), is_one=is_one)}"
