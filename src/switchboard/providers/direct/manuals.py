"""The instructions of servers under their own names, as far as they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from switchboard.children.listings.kept_words import Kept
    from switchboard.children.schema import ServerEntry

# A client reads them before its first word, and hosts cut what is longer.
MOST_LETTERS = 4_000
_MOST_TOGETHER = 16_000


def manuals(entries: Iterable[ServerEntry], environ: Mapping[str, str], kept: Kept) -> str:
    """What each server said of its use when it last ran, under its name."""
    text = ""
    for entry in entries:
        words = kept.of(entry, environ)
        if words is None or not words.instructions:
            continue
        told = f"\n\nThe server `{entry.name}` says of its use:\n{words.instructions}"
        if len(text) + len(told) <= _MOST_TOGETHER:
            text += told
    return text
