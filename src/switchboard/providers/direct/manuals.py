"""The instructions of servers under their own names, as far as they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from switchboard.children.listings.kept_words import Kept
    from switchboard.children.schema import ServerEntry

# A client reads them before its first word. Claude Code cuts all that it is told after so many
# letters, of which ours come first.
MOST_LETTERS = 2_048
_LEAST_LETTERS = 60


def manuals(
    entries: Iterable[ServerEntry], environ: Mapping[str, str], kept: Kept, taken: int
) -> str:
    """What each server said of its use when it last ran, under its name. All get the same room.

    So many letters are taken by what a client is told before.
    """
    known = ((entry.name, kept.of(entry, environ)) for entry in entries)
    said = [(name, words.instructions) for name, words in known if words and words.instructions]
    text = ""
    for number, (name, words) in enumerate(said):
        head = f"\n\nThe server `{name}` says of its use:\n"
        room = (MOST_LETTERS - taken - len(text)) // (len(said) - number) - len(head)
        if room >= _LEAST_LETTERS:
            text += head + (words if len(words) <= room else words[: room - 1].rstrip() + "…")
    return text
