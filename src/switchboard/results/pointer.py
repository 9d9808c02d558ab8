"""JSON Pointer (RFC 6901), and `$.name.name` for those who write it so."""

from typing import Any, cast

Steps = tuple[str, ...]

# More than any array has items, or any text lines: Python would take its time to read them.
MOST_DIGITS = 9


class NoSuchPlace(ValueError):
    """A path that leads nowhere, or is none. The text says why, in words of ours alone."""


def read_path(text: str) -> Steps:
    """The steps of a path: `/body/0`, or `$.body.0`. Empty, and `$`, mean the whole."""
    if text in {"", "$"}:
        return ()
    if text.startswith("$."):
        steps = tuple(text[2:].split("."))
        if "" in steps or any(mark in text for mark in "[]*"):
            raise NoSuchPlace("of `$` paths only `$.name.name` is understood: write `/name/0/name`")
        return steps
    if not text.startswith("/"):
        raise NoSuchPlace("a path begins with `/`, as in `/items/0/name`")
    return tuple(_unescaped(step) for step in text[1:].split("/"))


def written(steps: Steps) -> str:
    """The steps as a pointer."""
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)


def value_at(document: Any, steps: Steps) -> Any:
    """What stands there. Raises `NoSuchPlace`."""
    value = document
    for place, step in enumerate(steps):
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            if step not in members:
                raise _nothing(steps[: place + 1], f"an object of {len(members):,} members")
            value = members[step]
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            at = index_of(step)
            if at is None or at >= len(items):
                raise _nothing(steps[: place + 1], f"an array of {len(items):,} items")
            value = items[at]
        else:
            raise _nothing(steps[: place + 1], "a single value")
    return value


def index_of(step: str) -> int | None:
    """The index that a step is, in the one way of writing it; nothing if it is none."""
    if not step.isascii() or not step.isdigit() or (step[0] == "0" and step != "0"):
        return None
    return int(step) if len(step) <= MOST_DIGITS else None


def _unescaped(step: str) -> str:
    if "~" not in step:
        return step
    if "~" in step.replace("~0", "").replace("~1", ""):
        raise NoSuchPlace("in a path `~` is written as `~0`, and `/` within a name as `~1`")
    return step.replace("~1", "/").replace("~0", "~")


def _nothing(steps: Steps, instead: str) -> NoSuchPlace:
    where = written(steps[:-1])
    return NoSuchPlace(
        f"nothing is at `{written(steps)}`: {f'`{where}`' if where else 'the whole'} is {instead}"
    )
