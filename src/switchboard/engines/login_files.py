"""What engines keep in the files of their logins, to be taken out of everything that is told.

Variables of the environment are known to whoever starts an engine; these only the engine knows.
"""

from typing import Any, cast

import msgspec

_MOST_BYTES = 1024 * 1024
# Shorter texts are names, kinds and dates.
_SHORTEST = 20


def texts_in(path: str) -> frozenset[str]:
    """Every text of a login file that could be a credential; none without a file. Blocks."""
    try:
        with open(path, "rb") as file:
            tree: Any = msgspec.json.decode(file.read(_MOST_BYTES))
    except (OSError, msgspec.DecodeError, RecursionError):
        return frozenset()
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, str) and len(value) >= _SHORTEST and " " not in value:
            found.add(value)
    return frozenset(found)
