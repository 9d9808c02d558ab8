"""Values as formats have them, compared and changed without touching what they were read into."""

from collections.abc import Sequence
from typing import Any, cast

from switchboard.hosts.edits.unfit import UnfitFile


def is_same(one: Any, other: Any, seen: set[tuple[int, int]] | None = None) -> bool:
    """Whether both say the same. The order of keys says nothing; `1`, `1.0` and `true` differ."""
    # YAML can name a part a second time, a thousand times over, or inside itself.
    seen = set() if seen is None else seen
    pair = (id(cast("object", one)), id(cast("object", other)))
    if pair[0] == pair[1] or pair in seen:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        seen.add(pair)
        mine, theirs = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        return mine.keys() == theirs.keys() and all(
            is_same(each, theirs[key], seen) for key, each in mine.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        seen.add(pair)
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(
            is_same(each, against, seen) for each, against in zip(items, others, strict=True)
        )
    # A number that is none differs from itself.
    if type(cast("object", one)) is not type(cast("object", other)):
        return False
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124


def with_value(tree: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """The tree with this value at the path. Raises `UnfitFile` where the path leads nowhere."""
    key, *rest = path
    if not rest:
        return {**tree, key: value}
    inner = tree.get(key)
    if inner is not None and not isinstance(inner, dict):
        raise UnfitFile(f"`{key}` is not an object")
    below = cast("dict[str, Any]", inner or {})
    return {**tree, key: with_value(below, rest, value)}


def without_value(tree: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The tree without what stands at the path; the very same tree if nothing does."""
    key, *rest = path
    if key not in tree:
        return tree
    if not rest:
        return {name: each for name, each in tree.items() if name != key}
    inner = tree[key]
    if not isinstance(inner, dict):
        return tree
    changed = without_value(cast("dict[str, Any]", inner), rest)
    return tree if changed is inner else {**tree, key: changed}


def without_empty(tree: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The tree without the objects on the way to the path that hold nothing."""
    if len(path) < 2 or not isinstance(tree.get(path[0]), dict):  # noqa: PLR2004 - a parent
        return tree
    inner = without_empty(tree[path[0]], path[1:])
    if inner:
        return {**tree, path[0]: inner}
    return {name: each for name, each in tree.items() if name != path[0]}


def value_at(tree: dict[str, Any], path: Sequence[str]) -> Any:
    """What stands at the path; `None` if nothing does."""
    here: Any = tree
    for key in path:
        here = cast("dict[str, Any]", here).get(key) if isinstance(here, dict) else None
    return here
