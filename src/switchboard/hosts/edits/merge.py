"""Two texts that were made of one, brought together line by line."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

# What differs between two texts is found in a time that grows faster than they do.
_MOST_LINES = 10_000


class _Hunk(Struct, frozen=True):
    """Lines of the common text, from and up to, and what stands in their place."""

    start: int
    end: int
    lines: tuple[str, ...]

    def meets(self, other: "_Hunk") -> bool:
        """Whether both change the same lines, or put something in at the same place."""
        if self.start == other.start and (self.start == self.end) == (other.start == other.end):
            return True
        return max(self.start, other.start) < min(self.end, other.end) or any(
            one.start < each.start == each.end < one.end
            for one, each in ((self, other), (other, self))
        )


def merged(common: str, wanted: str, theirs: str) -> str:
    """Their text with what is wanted of the common one, but for lines that they changed as well."""
    base = _lines(common)
    others = [*_hunks(base, _lines(theirs))]
    mine = [
        each
        for each in _hunks(base, _lines(wanted))
        if not any(each.meets(other) for other in others)
    ]
    made: list[str] = []
    done = 0
    for each in sorted((*mine, *others), key=lambda hunk: (hunk.start, hunk.end)):
        made += (*base[done : each.start], *each.lines)
        done = each.end
    return "".join((*made, *base[done:]))


def _lines(text: str) -> list[str]:
    *lines, rest = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([rest] if rest else [])]


def _hunks(base: Sequence[str], other: Sequence[str]) -> Iterator[_Hunk]:
    begin = _same_at_begin(base, other)
    end = _same_at_begin(base[begin:][::-1], other[begin:][::-1])
    old, new = base[begin : len(base) - end], other[begin : len(other) - end]
    if len(old) + len(new) > _MOST_LINES:
        yield _Hunk(begin, begin + len(old), tuple(new))
        return
    for kind, start, stop, first, last in SequenceMatcher(None, old, new).get_opcodes():
        if kind != "equal":
            yield _Hunk(begin + start, begin + stop, tuple(new[first:last]))


def _same_at_begin(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
