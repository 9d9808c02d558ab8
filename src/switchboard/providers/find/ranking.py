"""Which tools are used most, counted once a day: what a listing tells may change between days."""

import asyncio
import time
from collections.abc import Callable, Sequence

from switchboard.children.listings.kept_words import KeptWords
from switchboard.core.loop.tasks import TaskSet


class Ranking:
    """Counts on a thread of its own, for the sessions that begin afterwards."""

    def __init__(self, used_tools: Callable[[], Sequence[str]], kept: KeptWords) -> None:
        self._used_tools = used_tools
        self._kept = kept
        self._tasks = TaskSet()
        self._day = ""

    def refresh(self) -> None:
        """Count, if nobody has today."""
        today = time.strftime("%Y-%m-%d", time.gmtime())
        if today == self._day or self._tasks:
            return
        if self._kept.known().counted == today:
            self._day = today
        else:
            self._tasks.start(asyncio.to_thread(self._count, today))

    def _count(self, today: str) -> None:
        used = self._used_tools()
        # Who has used nothing yet is counted again: the first day would be without any.
        if used:
            self._kept.rank(used, today)

    async def aclose(self) -> None:
        """What was counted is kept: it takes a moment."""
        await self._tasks.wait()
