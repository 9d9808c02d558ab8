"""Threads for work that blocks, so that the loop never does."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from switchboard.core.calls.clock import Clock

MOST_AT_ONCE = 16
LAST_WORDS_S = 10.0

T = TypeVar("T")


class YardThreads:
    """What is begun is finished, also when its caller has gone: a worktree is never half made."""

    def __init__(self) -> None:
        # Taken until the thread has ended, so that calls given up on cannot pile up.
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._under_way: set[asyncio.Future[Any]] = set()

    async def do(self, work: Callable[[], T], clock: Clock) -> T:
        """Have the work done on a thread of its own; until there is one, its clock stands still."""
        if self._slots.locked():
            with clock.in_line():
                await self._slots.acquire()
        else:
            await self._slots.acquire()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._under_way.add(done)

        def settle(result: T | None, error: BaseException | None) -> None:
            self._slots.release()
            self._under_way.discard(done)
            if error is None:
                done.set_result(result)  # pyright: ignore[reportArgumentType] - without an error it is one
            else:
                done.set_exception(error)
                # Nobody may be left to hear of it.
                done.exception()

        def run() -> None:
            result, error = None, None
            try:
                result = work()
            except BaseException as wrong:  # noqa: BLE001 - it is the caller's, whatever it is
                error = wrong
            # The loop may have ended before the work.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, result, error)

        # Not of a pool: those are joined when the process ends, however long they take.
        threading.Thread(target=run, name="yard", daemon=True).start()
        return await asyncio.shield(done)

    async def aclose(self) -> None:
        """Wait a while for what is under way."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=LAST_WORDS_S)
