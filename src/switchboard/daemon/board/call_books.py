"""Which book the calls of a board are written into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from switchboard.core.ports import Gate
from switchboard.core.privacy.secrets import Redact
from switchboard.receipts.book import CallBook
from switchboard.receipts.gate import InheritanceGate, ReceiptGate
from switchboard.surface.results import result_bytes

if TYPE_CHECKING:
    from switchboard.daemon.board.sharing.shared_children import SharedChildren
    from switchboard.daemon.team.membership import Team
    from switchboard.settings.sections import Settings


class BoardCalls:
    """The book of the daemon, or of a board in a process of its own."""

    def __init__(self, shared: SharedChildren | None, team: Team | None = None) -> None:
        self._shared = shared
        self._files = None if team is None else team.results()
        self._book: CallBook | None = None

    def open(self, settings: Settings, hide: Redact) -> tuple[CallBook, tuple[Gate, Gate]]:
        """One for all settings of the board, and the gates that look into it."""
        if self._book is None:
            home, shared = settings.home, self._shared
            self._book = (
                CallBook(home, result_bytes, files=self._files)
                if shared is None
                else shared.calls(home)
            )
        self._book.files.keep_s = settings.results.keep_s
        return self._book, (ReceiptGate(self._book, hide), InheritanceGate(self._book))

    def leave(self, session_id: str) -> None:
        """A session has ended."""
        if self._book is not None:
            self._book.leave(session_id)

    async def aclose(self) -> None:
        """Keep what nobody has read, unless others still write into it."""
        if self._book is not None and self._shared is None:
            await self._book.aclose()
