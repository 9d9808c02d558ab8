"""Did-you-mean: the nearest known word, or nothing."""

from collections.abc import Iterable


def distance(left: str, right: str) -> int:
    """Edit distance, counting a swap of neighbours as one step."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word nearest to `word`, when it is near enough to be meant."""
    lowered = word.lower()
    scored = sorted((distance(lowered, one.lower()), one) for one in known)
    if scored and scored[0][0] <= max(1, len(word) // 3):
        return scored[0][1]
    return None


def hint(word: str, known: Iterable[str]) -> str:
    """A sentence part: did you mean, or the list of what there is."""
    names = sorted(known)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean `{near}`?"
    shown = ", ".join(f"`{name}`" for name in names[:12])
    return f"known: {shown}" if shown else ""
