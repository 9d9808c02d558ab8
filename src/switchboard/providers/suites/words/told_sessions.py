"""Which sessions were told of servers, for as long as each lasts. Kept over reloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from switchboard.children.listings.kept_words import KeptWords


class ToldSessions:
    """Hears which sessions of a board are gone, for the words that lie with the home."""

    def __init__(self) -> None:
        self.words: KeptWords | None = None

    def leave(self, session_id: str) -> None:
        """A session has ended."""
        if self.words is not None:
            self.words.forget(session_id)

    async def aclose(self) -> None:
        """Nothing: the words outlast the board."""
