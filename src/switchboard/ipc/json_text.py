"""JSON without the module `json`, which costs more than the rest of the shim."""

from _json import encode_basestring_ascii as quoted
from _json import make_scanner

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
