"""The current board, and those that calls still hold."""

from collections.abc import Callable

from switchboard.core.board import Board


class CurrentBoard:
    """Lends out the current board. An old one is retired after its last lease."""

    def __init__(self, board: Board) -> None:
        self._current = BoardLease(board)

    @property
    def current(self) -> Board:
        """The board that new calls get."""
        return self._current.board

    def lease(self) -> "BoardLease":
        return self._current

    def swap(self, board: Board, retire: Callable[[], None]) -> None:
        """Put a new board up; `retire` runs when the old one serves no call any more."""
        old, self._current = self._current, BoardLease(board)
        old.retire(retire)


class BoardLease:
    """A board, and how many calls hold it. Each `with` is one lease; there may be many at once."""

    __slots__ = ("_leases", "_retire", "board")

    def __init__(self, board: Board) -> None:
        self.board = board
        self._leases = 0
        self._retire: Callable[[], None] | None = None

    def __enter__(self) -> Board:
        self._leases += 1
        return self.board

    def __exit__(self, *_: object) -> None:
        self._leases -= 1
        if self._retire is not None:
            self._settle()

    def retire(self, retire: Callable[[], None]) -> None:
        """Have this called, once, when nobody holds it any more."""
        self._retire = retire
        self._settle()

    def _settle(self) -> None:
        if not self._leases and self._retire is not None:
            retire, self._retire = self._retire, None
            retire()
