"""Did you mean: the known word that a mistyped one most likely stands for."""

from collections.abc import Iterable

_SHORT_WORD = 4
_BEGINNING = 3
_MOST_SHOWN = 12


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """The choice that the word most likely stands for, or nothing."""
    folded = _folded(word)
    choices = sorted(choices)
    # Any letter is one edit away from any other.
    allowed = 0 if len(folded) == 1 else 1 if len(folded) <= _SHORT_WORD else 2
    best, best_distance = "", allowed + 1
    for choice in choices:
        distance = _distance(folded, _folded(choice), best_distance)
        if distance < best_distance:
            best, best_distance = choice, distance
    return best or _begun(folded, choices)


def _begun(folded: str, choices: Iterable[str]) -> str:
    """The only choice that begins with what was typed, where that is more than a letter or two."""
    found = [each for each in choices if _folded(each).startswith(folded)]
    return found[0] if len(found) == 1 and len(folded) >= _BEGINNING else ""


def suggestion(word: str, choices: Iterable[str]) -> str:
    """Part of a sentence: did you mean, or what there is to choose from."""
    names = sorted(choices)
    if meant := did_you_mean(word, names):
        return f"did you mean `{meant}`?"
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_SHOWN])
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return f"known: {shown}{more}" if shown else ""


def _folded(word: str) -> str:
    # `rpc_ms`, `rpc-ms` and `rpcMs` are the same word in three habits.
    return word.replace("_", "").replace("-", "").casefold()


def _distance(one: str, other: str, limit: int) -> int:
    """Edits between two words, with swapped neighbours as one edit; `limit` when farther."""
    # There may be thousands of choices, most of which plainly differ: each letter that only one of
    # them has is an edit.
    if abs(len(one) - len(other)) >= limit or len(set(one).difference(other)) >= limit:
        return limit
    width = len(other)
    before, previous = list[int](), list(range(width + 1))
    for row, letter in enumerate(one, 1):
        # Off the diagonal by more than the limit, nothing comes back within it.
        current = [row, *[limit] * width]
        for column in range(max(1, row - limit), min(width, row + limit) + 1):
            theirs = other[column - 1]
            cost = min(
                previous[column] + 1,
                current[column - 1] + 1,
                previous[column - 1] + (letter != theirs),
            )
            swapped = (
                row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == theirs
            )
            if swapped:
                cost = min(cost, before[column - 2] + 1)
            current[column] = cost
        before, previous = previous, current
        if min(before) >= limit and min(previous) >= limit:
            return limit
    return min(previous[-1], limit)
