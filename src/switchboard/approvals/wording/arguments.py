"""Arguments as people read them: whole over several lines, or short in one.

Every letter that cannot be seen is written as its code. What the short line leaves out it counts,
and shows beginning and end of: who writes arguments chooses what stands at their end.
"""

import json
from collections.abc import Iterator
from typing import Any, cast

from switchboard.core.privacy.cleaning import written_out
from switchboard.core.strict import Number

# What a person can be expected to read.
MAX_ARGUMENTS = 16_000
# Three rows of a narrow terminal.
MAX_BRIEF = 230
_TAB = 4
# How much is kept of a long text, and of how many members, ever less until it is short enough.
_STEPS = ((60, 8), (40, 5), (24, 3), (12, 2))


def shown_arguments(value: Any) -> str:
    """Arguments as JSON to read."""
    return "\n".join(_pretty(value, ""))


def shown_text(text: str) -> str:
    """A text whole, in its own lines, every letter that cannot be seen written as its code."""
    return "\n".join(written_out(line.expandtabs(_TAB)) for line in text.split("\n"))


def brief_arguments(value: Any) -> tuple[str, bool]:
    """Arguments in one line, and whether they are all there."""
    whole = _compact(value)
    if len(whole) <= MAX_BRIEF:
        return whole, True
    brief = whole
    for letters, members in _STEPS:
        brief = _compact(_shortened(value, letters, members))
        if len(brief) <= MAX_BRIEF:
            return brief, False
    return f"{brief[:MAX_BRIEF]} …", False


def _compact(value: Any) -> str:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        inside = ", ".join(f"{_text(key)}: {_compact(each)}" for key, each in members.items())
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_compact, cast('list[Any]', value)))}]"
    if isinstance(value, _Left):
        return f"… {value.count:,} more"
    return "".join(_pretty(value, ""))


class _Left:
    """So many members that are not shown."""

    def __init__(self, count: int) -> None:
        self.count = count


def _shortened(value: Any, letters: int, members: int) -> Any:
    if isinstance(value, dict):
        pairs = list(cast("dict[str, Any]", value).items())
        kept = {
            _middle_out(key, letters): _shortened(each, letters, members)
            for key, each in pairs[:members]
        }
        return {**kept, "…": _Left(len(pairs) - members)} if len(pairs) > members else kept
    if isinstance(value, list):
        items = cast("list[Any]", value)
        # Beginning and end: what is between them is counted.
        if len(items) > members:
            first = [_shortened(each, letters, members) for each in items[: members - 1]]
            last = _shortened(items[-1], letters, members)
            return [*first, _Left(len(items) - members), last]
        return [_shortened(each, letters, members) for each in items]
    if isinstance(value, str) and not isinstance(value, Number):
        return _middle_out(value, letters)
    return value


def _middle_out(text: str, letters: int) -> str:
    left = len(text) - letters
    # A count in place of a letter or two would say less than they do.
    if left <= _TAB:
        return text
    end = letters // 3
    return f"{text[: letters - end]}…({left:,} more)…{text[-end:]}"


def _pretty(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        members = cast("dict[str, Any]", value)
        yield "{"
        yield from _inside([(f"{_text(key)}: ", each) for key, each in members.items()], indent)
        yield f"{indent}}}"
    elif isinstance(value, list) and value:
        yield "["
        yield from _inside([("", each) for each in cast("list[Any]", value)], indent)
        yield f"{indent}]"
    elif isinstance(value, Number):
        yield str(value)
    elif isinstance(value, str):
        yield _text(value)
    else:
        yield json.dumps(value)


def _inside(parts: list[tuple[str, Any]], indent: str) -> Iterator[str]:
    deeper = f"{indent}  "
    for place, (head, value) in enumerate(parts):
        lines = list(_pretty(value, deeper))
        lines[0] = f"{deeper}{head}{lines[0]}"
        if place < len(parts) - 1:
            lines[-1] += ","
        yield from lines


def _text(text: str) -> str:
    return written_out(json.dumps(text, ensure_ascii=False))
