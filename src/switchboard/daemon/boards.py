"""The current board, and those that calls still hold."""

from collections.abc import Callable

from switchboard.core.board import Board


class BoardRack:
    """Lends out the current board. An old one is retired after its last lease."""

    def __init__(self, board: Board) -> None:
        self._current = board
        self._leases: dict[int, int] = {}
        self._retirements: dict[int, Callable[[], None]] = {}

    @property
    def current(self) -> Board:
        """The board that new calls get."""
        return self._current

    def lease(self) -> "Lease":
        return Lease(self, self._current)

    def hold(self, board: Board) -> None:
        """A call begins on this board."""
        key = id(board)
        self._leases[key] = self._leases.get(key, 0) + 1

    def release(self, board: Board) -> None:
        """A call on this board has ended."""
        key = id(board)
        left = self._leases[key] - 1
        if left:
            self._leases[key] = left
        else:
            del self._leases[key]
            self._settle(key)

    def swap(self, board: Board, retire: Callable[[], None]) -> None:
        """Put a new board up; `retire` runs when the old one serves no call any more."""
        key = id(self._current)
        self._current = board
        self._retirements[key] = retire
        self._settle(key)

    def _settle(self, key: int) -> None:
        if key not in self._leases and key in self._retirements:
            self._retirements.pop(key)()


class Lease:
    """Keeps a board alive for one call. A class, because a generator costs a call more time."""

    __slots__ = ("_board", "_rack")

    def __init__(self, rack: BoardRack, board: Board) -> None:
        self._rack = rack
        self._board = board

    def __enter__(self) -> Board:
        self._rack.hold(self._board)
        return self._board

    def __exit__(self, *_: object) -> None:
        self._rack.release(self._board)
