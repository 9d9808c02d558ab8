"""What a server has changed of a tool: short enough to be read, and nothing in it unseen."""

import difflib
import re
from collections import Counter
from collections.abc import Iterator

from switchboard.core.privacy.cleaning import written_out
from switchboard.core.stores import Held

# Of each definition as much is kept as a person could look through.
MOST_KEPT = 64 * 1024
_CUT = "\n… (cut)"
# What a person reads in a question, and what who looks closer is shown.
_SHORT = (40, 4_000)
_LONG = (400, 40_000)
_AROUND = 1
# The time that it takes to match them grows with their square, and everybody waits for it.
_MOST_PIECES = 500
# A description is one line of JSON. Whoever compares it wants to see which sentence is another.
_LONG_LINE = 160
_MOST_LINE = 400
_SENTENCES = re.compile(r"(?<=\\n)|(?<=[.!?] )")
_LINE_ENDS = re.compile(r"(?<=\\n)")
_HEADINGS = ("--- ", "+++ ")


def kept(text: str) -> str:
    """As much of a definition as is kept beside its hash."""
    return text if len(text) <= MOST_KEPT else text[:MOST_KEPT] + _CUT


def difference(before: str, after: str, *, is_short: bool = False) -> tuple[str, ...]:
    """The lines that were added (`+`) and taken away (`-`), with their neighbours."""
    most_lines, most_letters = _SHORT if is_short else _LONG
    found = list(_lines(before, after))
    if not found and before.endswith(_CUT):
        return ("… it may differ further on: only its beginning is kept",)
    shown: list[str] = []
    letters = 0
    for line in found:
        letters += len(line)
        if len(shown) == most_lines or letters > most_letters:
            rest = sum(each.startswith(("+", "-")) for each in found[len(shown) :])
            return (*shown, f"… and {rest} more changed lines that are not shown here")
        shown.append(line)
    return tuple(shown)


def held_difference(held: Held) -> tuple[str, ...]:
    """What was changed of a held definition, as lines with `+` and `-`."""
    return difference(held.before, held.after) or ("… only hidden parts of it differ",)


def _lines(before: str, after: str) -> Iterator[str]:
    old, new = _without_ends(list(_pieces(before)), list(_pieces(after)))
    if max(len(old), len(new)) > _MOST_PIECES:
        yield from _roughly(old, new)
        return
    compared = difflib.unified_diff(old, new, lineterm="", n=_AROUND)
    for number, line in enumerate(compared):
        if number < len(_HEADINGS):
            continue
        yield "…" if line.startswith("@@") else written_out(line)


def _without_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Both without what they begin and end with alike, but for the neighbours of what differs."""
    begin, most = 0, min(len(old), len(new))
    while begin < most and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < most - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    begin, end = max(0, begin - _AROUND), max(0, end - _AROUND)
    return old[begin : len(old) - end], new[begin : len(new) - end]


def _roughly(old: list[str], new: list[str]) -> Iterator[str]:
    """The same in one go, without what stands around it: to match so many would take minutes."""
    had, has = Counter(old), Counter(new)
    found = [f"-{each}" for each in (had - has).elements()]
    found += [f"+{each}" for each in (has - had).elements()]
    if not found and old != new:
        found = ["… the same lines in another order, or another number of them"]
    yield from map(written_out, found)


def _pieces(text: str) -> Iterator[str]:
    for line in text.splitlines():
        ends = _SENTENCES if len(line) > _LONG_LINE else _LINE_ENDS
        for part in filter(None, ends.split(line)):
            yield from (part[at : at + _MOST_LINE] for at in range(0, len(part), _MOST_LINE))
