"""Starts that nobody in particular waits for take turns, so that a machine is left to its user."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from switchboard.children.child import Child

T = TypeVar("T")

# So many processes begin at a time: a start is the work of one processor.
AT_ONCE = max(2, (os.cpu_count() or 1) // 2)
# One that downloads first, or hangs, holds up the others no longer than this.
TURN_S = 4.0


class Turns:
    """Who may start, in the order in which they came. Whoever runs already needs no turn."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)
        # Those that wait for their turn or have it: what else is wanted of them waits with them.
        self._waiting: dict[Child, asyncio.Future[None]] = {}

    async def take(self, child: Child, work: Callable[[], Awaitable[T]]) -> T:
        """Do what starts the child, in its turn."""
        while (waiting := self._waiting.get(child)) is not None:
            await asyncio.wait({waiting})
        if child.is_running:
            return await work()
        over = self._waiting[child] = asyncio.get_running_loop().create_future()
        try:
            async with self._free:
                doing = asyncio.ensure_future(work())
                try:
                    await asyncio.wait({doing}, timeout=TURN_S)
                except BaseException:
                    doing.cancel()
                    raise
        finally:
            del self._waiting[child]
            over.set_result(None)
        return await doing
