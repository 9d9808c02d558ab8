"""Values to choose from, as every host takes them: Gemini knows no `enum` but of texts.

Its API refuses the whole request for a number, a truth value, null or an empty text in one. Each of
these has other words that say exactly the same.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

# Ranges of numbers that are written out at most.
_MOST_CHOICES = 200
# Beyond it not every whole number is one of JSON.
_EXACT = 2**53


def with_texts_alone(values: Sequence[Any], kind: Any) -> dict[str, Any] | None:
    """The members that say the same as `enum` and `type` of a schema.

    Nothing where there are no such words: one truth value without the other, a list, an object, or
    a value that is not of the type.
    """
    truths = set(filter(_is_truth, values))
    if len(truths) == 1 or any(isinstance(each, list | dict) for each in values):
        return None
    choices = list(_choices(values))
    allowed = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    if kind is not None and not all(_is_of(choice["type"], allowed) for choice in choices):
        return None
    if len(choices) > _MOST_CHOICES:
        return None
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_of(kind: str, allowed: Sequence[Any]) -> bool:
    return kind in allowed or (kind == "integer" and "number" in allowed)


def _choices(values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    if texts := [each for each in values if isinstance(each, str) and each]:
        yield {"type": "string", "enum": texts}
    if any(each == "" for each in values):
        yield {"type": "string", "maxLength": 0}
    # A truth value would pass for 0 or 1.
    numbers = [each for each in values if isinstance(each, int | float) and not _is_truth(each)]
    whole = {int(each) for each in numbers if abs(each) <= _EXACT and each == int(each)}
    yield from _ranges(sorted(whole))
    for each in sorted(set(numbers) - whole):
        yield {"type": "number", "minimum": each, "maximum": each}
    if any(map(_is_truth, values)):
        yield {"type": "boolean"}
    if any(each is None for each in values):
        yield {"type": "null"}


def _ranges(numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Neighbours together: 1, 2 and 3 are what lies between 1 and 3."""
    if not numbers:
        return
    first = numbers[0]
    for one, other in pairwise(numbers):
        if other > one + 1:
            yield {"type": "integer", "minimum": first, "maximum": one}
            first = other
    yield {"type": "integer", "minimum": first, "maximum": numbers[-1]}
