"""Words that somebody else wrote, before a person reads them."""

import re
import unicodedata

# Escape sequences of terminals, before their escape character is lost.
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# Control, format (bidirectional, zero-width, tags), private and unassigned characters.
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cn", "Cs"})
_KEPT = frozenset("\n\t")


def cleaned(text: str, limit: int) -> str:
    """The text without what hides, reorders or imitates, cut to a length."""
    visible = "".join(
        char
        for char in _ESCAPES.sub("", text)
        if char in _KEPT or unicodedata.category(char) not in _INVISIBLE
    )
    return visible if len(visible) <= limit else visible[: limit - 1] + "…"
