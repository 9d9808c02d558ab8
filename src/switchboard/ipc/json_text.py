"""JSON without the module `json`, which costs more than the rest of the shim."""

from _json import encode_basestring_ascii as quoted
from _json import make_scanner, scanstring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Rules:
    """How a scanner reads what JSON leaves open."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


# Gives the value that begins at a place, and where it ends.
scan: "Callable[[str, int], tuple[Any, int]]" = make_scanner(_Rules())  # type: ignore[arg-type]


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


def _no_constant(text: str) -> float:
    raise ValueError(text)


class _StrictRules(_Rules):
    """What every reader takes for the same."""

    strict = True
    parse_float = staticmethod(_finite)
    parse_constant = staticmethod(_no_constant)


_scan_strictly: "Callable[[str, int], tuple[Any, int]]" = make_scanner(_StrictRules())  # type: ignore[arg-type]
_BLANK = " \t\r\n"


def read(text: str) -> "Any":
    """A value, or None where there is none."""
    try:
        return scan(text.strip(), 0)[0]
    except (StopIteration, ValueError, RecursionError):
        return None


def written(value: "str | int | float | None") -> str:
    """A text or a number as JSON."""
    if value is None:
        return "null"
    return quoted(value) if isinstance(value, str) else repr(value)


def listed(values: "list[str]") -> str:
    """Texts as an array."""
    return f"[{','.join(map(quoted, values))}]"


def members(text: str) -> "dict[str, str] | None":
    """The members of an object, each as the text that it is; None where readers might disagree."""
    # Halves of characters.
    if "\\ud" in text.lower():
        return None
    try:
        return _members(text.strip(_BLANK))
    except (StopIteration, ValueError, RecursionError, IndexError):
        return None


def _members(text: str) -> "dict[str, str] | None":
    found: dict[str, str] = {}
    if text[0] != "{":
        return None
    place = _next(text, 1)
    if text[place] == "}":
        return found if place == len(text) - 1 else None
    while True:
        name, place = _scan_strictly(text, place)
        place = _next(text, place)
        if not isinstance(name, str) or text[place] != ":":
            return None
        begin = _next(text, place + 1)
        _, place = _scan_strictly(text, begin)
        found[name] = text[begin:place]
        place = _next(text, place)
        if text[place] == "}":
            return found if place == len(text) - 1 else None
        if text[place] != ",":
            return None
        place = _next(text, place + 1)


def _next(text: str, place: int) -> int:
    """Where the next thing begins that is not blank."""
    while text[place] in _BLANK:
        place += 1
    return place


def indented(text: str) -> str:
    """A JSON text that is known to be one, laid out for reading; its values stay as written."""
    parts: list[str] = []
    depth = place = 0
    while place < len(text):
        letter = text[place]
        end = place + 1
        if letter == '"':
            end = scanstring(text, end, False)[1]
            parts.append(text[place:end])
        elif letter in "{[":
            following = _next(text, end)
            if text[following] in "}]":
                parts.append(letter + text[following])
                end = following + 1
            else:
                depth += 1
                parts.append(letter + _line(depth))
        elif letter in "}]":
            depth -= 1
            parts.append(_line(depth) + letter)
        elif letter == ",":
            parts.append("," + _line(depth))
        elif letter == ":":
            parts.append(": ")
        elif letter not in _BLANK:
            parts.append(letter)
        place = end
    return "".join(parts)


def _line(depth: int) -> str:
    return "\n" + "  " * depth
