"""Arguments as people read them: whole over several lines or in one, or short in a narrow row.

Every letter that cannot be seen is written as its code. What the short row leaves out of a text it
counts, and it shows both ends of it: who writes arguments chooses what stands at their end.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from switchboard.approvals.wording.fitting import WIDTH, middle_counted, shortened
from switchboard.core.privacy.cleaning import blanks_counted, written_out
from switchboard.core.text.strict import Number
from switchkit.cli.columns import columns_of

# What a person can be expected to read.
MAX_ARGUMENTS = 16_000
# Three rows of a narrow terminal.
MAX_LINE = 230
_TAB = 4
# How many members are kept, and how many letters of the first text, ever fewer until they fit.
_STEPS = tuple((members, letters) for members in (8, 5, 3, 2, 1) for letters in range(56, 14, -2))
# What is kept of the others: the first says most.
_SHARE, _LEAST = 3, 6
# What says most of what a call does, by the last word of its name; and what is long and says least.
_TELLING = (
    *("command", "cmd", "script", "code", "sql", "query", "statement", "path", "file", "filename"),
    *("url", "uri", "host", "to", "recipient", "recipients", "destination", "target", "source"),
    *("repo", "repository", "branch", "name", "names", "id", "ids", "title", "subject"),
)
_BULKY = frozenset({"content", "contents", "body", "text", "data", "description"})
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def shown_arguments(value: Any) -> str:
    """Arguments as JSON to read."""
    return "\n".join(_pretty(value, ""))


def shown_text(text: str) -> str:
    """A text whole, in its own lines, every letter that cannot be seen written as its code."""
    return "\n".join(written_out(line.expandtabs(_TAB)) for line in text.split("\n"))


def arguments_in_line(value: Any) -> str:
    """Arguments whole in one line; nothing where that would be a long one."""
    whole = blanks_counted(compact(value))
    return whole if columns_of(whole) <= MAX_LINE else ""


def brief_arguments(value: Any) -> tuple[str, bool]:
    """Arguments in one row of a narrow terminal, and whether they are all there."""
    brief = blanks_counted(compact(value))
    if columns_of(brief) <= WIDTH:
        return brief, True
    for members, letters in _STEPS:
        brief = blanks_counted(compact(_shortened(value, letters, members, is_first=True)))
        if columns_of(brief) <= WIDTH:
            return brief, False
    return shortened(brief, WIDTH), False


def compact(value: Any) -> str:
    """A value whole, in one line."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        inside = ", ".join(
            compact(each) if isinstance(each, _Left) else f"{_text(key)}: {compact(each)}"
            for key, each in members.items()
        )
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(compact, cast('list[Any]', value)))}]"
    if isinstance(value, _Left):
        return f"… {value.count:,} more"
    return "".join(_pretty(value, ""))


class _Left:
    """So many members that are not shown."""

    def __init__(self, count: int) -> None:
        self.count = count


def _shortened(value: Any, letters: int, members: int, *, is_first: bool = False) -> Any:
    if isinstance(value, dict):
        pairs = sorted(cast("dict[str, Any]", value).items(), key=_weight)
        kept = {
            middle_counted(key, max(letters // _SHARE, _LEAST)): _shortened(
                each, letters, members, is_first=is_first and at == 0
            )
            for at, (key, each) in enumerate(pairs[:members])
        }
        return {**kept, "": _Left(len(pairs) - members)} if len(pairs) > members else kept
    if isinstance(value, list):
        items = cast("list[Any]", value)
        # Beginning and end: what is between them is counted.
        if len(items) > members:
            first = [_shortened(each, letters, members) for each in items[: members - 1]]
            last = _shortened(items[-1], letters, members)
            return [*first, _Left(len(items) - members), last]
        return [_shortened(each, letters, members, is_first=is_first) for each in items]
    if isinstance(value, str) and not isinstance(value, Number):
        return middle_counted(value, letters if is_first else max(letters // _SHARE, _LEAST))
    return value


def _weight(pair: tuple[str, Any]) -> int:
    """What says most comes first; else they stand in their own order."""
    *_, last = _WORDS.findall(pair[0]) or ("",)
    word = last.lower()
    if word in _TELLING:
        return _TELLING.index(word)
    return len(_TELLING) + (word in _BULKY)


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
