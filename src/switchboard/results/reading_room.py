"""Where large results are taken apart: off the loop, few at a time, and one of each session.

Each of them takes many times its length in memory for that moment.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

_AT_ONCE = 2


class ReadingRoom:
    """Who comes while it is full waits, in the order of coming, and behind its own session."""

    def __init__(self) -> None:
        self._seats: ThreadPoolExecutor | None = None
        # Each as long as somebody of that session is here.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def read(self, holder: str, work: Callable[[], T]) -> T:
        """Do it for that session. Raises what it raises."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few are that large

        if self._seats is None:
            # Also what nobody waits for any more holds its seat until it is over.
            self._seats = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="results")
        turn = self._turns.get(holder)
        if turn is None:
            turn = self._turns[holder] = asyncio.Lock()
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self._seats, work)
