"""Parts of a kept result, as they are asked for. No answer is longer than its share."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.text.tokens import estimated_tokens
from switchboard.results.document import holding_lines, lines_of, text_of
from switchboard.results.inlining import Share
from switchboard.results.pointer import MOST_DIGITS, NoSuchPlace, read_path, value_at, written

# What the words around the lines may cost.
_FRAME_TOKENS = 60
_LEAST_TOKENS = 20
_LINES_HINT = 'send lines as "10-40", "10-" or "10"'


class Wanted(Struct, frozen=True):
    """Which part is wanted. `grep` is plain text, in either case of its letters."""

    handle: str
    path: str = ""
    lines: str | int = ""
    grep: str = ""


def part_of(document: Any, wanted: Wanted, share: Share) -> str:
    """The part as text, below a line that says what it is and how to go on; or a fault."""
    try:
        steps = read_path(wanted.path)
        value = value_at(document, steps)
    except NoSuchPlace as error:
        raise _invalid("no-such-place", f"`path`: {error}", "leave `path` out to see it") from None
    text = text_of(value)
    lines = lines_of(text)
    first, last = _range(str(wanted.lines), len(lines))
    numbers = range(first, last + 1)
    if wanted.grep:
        holding = set(holding_lines(text, wanted.grep))
        numbers = [each for each in numbers if each in holding]
    where = f"{wanted.handle}{f' {written(steps)}' if steps else ''}"
    tokens = max(_LEAST_TOKENS, share.tokens - _FRAME_TOKENS)
    while True:
        text = _told(lines, numbers, where, tokens, sought=wanted.grep)
        if share.holds(text) or tokens <= _LEAST_TOKENS:
            return text
        tokens //= 2


def _told(
    lines: Sequence[str], numbers: Sequence[int], where: str, tokens: int, *, sought: str
) -> str:
    shown: list[str] = []
    for number in numbers:
        line = f"{number}: {lines[number - 1]}" if sought else lines[number - 1]
        tokens -= estimated_tokens(line) + 1
        if tokens < 0 and shown:
            break
        shown.append(line)
    total = f"{len(lines):,}"
    if sought:
        head = f"{len(numbers):,} of {total} lines of {where} hold it"
    else:
        head = f"lines {numbers[0]:,}-{numbers[len(shown) - 1]:,} of {total} of {where}"
    if len(shown) < len(numbers):
        head += f'; go on with lines "{numbers[len(shown)]}-{numbers[-1]}"'
    return "\n".join((f"[{head}]", *shown))


def _range(text: str, count: int) -> tuple[int, int]:
    """The first and the last line that are wanted; both are there."""
    if not text:
        return 1, count
    begins, dash, ends = (each.strip() for each in text.partition("-"))
    numbers = (begins, ends or (str(count) if dash else begins))
    if not all(each.isascii() and each.isdigit() and len(each) <= MOST_DIGITS for each in numbers):
        raise _invalid("arguments-invalid", "`lines` is no range of lines", _LINES_HINT)
    first, last = map(int, numbers)
    if not 1 <= first <= last:
        raise _invalid("arguments-invalid", "`lines` is no range of lines", _LINES_HINT)
    if first > count:
        raise _invalid("no-such-place", f"there are {count:,} lines", _LINES_HINT)
    return first, min(last, count)


def _invalid(reason: str, message: str, hint: str) -> Fault:
    return Fault(FaultCode.INVALID_ARGUMENT, reason, message, hint=hint)
