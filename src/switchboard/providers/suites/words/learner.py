"""Has kept what servers say of themselves, for the listings of later sessions."""

import asyncio
from collections.abc import Callable

from switchboard.children.greeting import Greeting
from switchboard.children.listings.listing import ToolListing
from switchboard.core.loop.tasks import TaskSet

# Told the name of a suite, what its server said of itself, and its tools.
Learn = Callable[[str, Greeting, ToolListing], None]

# A disk that takes longer than this to write a few lines is not waited for.
_KEEPING_S = 5.0


class Learner:
    """Keeps it once for each listing and start of a server, on a thread of its own."""

    def __init__(self, learn: Learn | None) -> None:
        self._learn = learn
        # What each suite was last found to have, by whom, and the work of keeping it.
        self._learned: dict[str, tuple[ToolListing, Greeting, asyncio.Task[None]]] = {}
        self._tasks = TaskSet()

    def learn(
        self, suite: str, about: Greeting, listing: ToolListing
    ) -> "asyncio.Task[None] | None":
        """Begin to keep it. Gives the work, where there is any."""
        if self._learn is None:
            return None
        known, said, keeping = self._learned.get(suite, (None, None, None))
        if keeping is None or known is not listing or said is not about:
            keeping = self._tasks.start(asyncio.to_thread(self._learn, suite, about, listing))
            self._learned[suite] = (listing, about, keeping)
        return keeping

    async def learned(self, suite: str, about: Greeting, listing: ToolListing) -> None:
        """Keep it, for whoever counts on that: a session that begins then is told of it."""
        keeping = self.learn(suite, about, listing)
        if keeping is not None and not keeping.done():
            # Not for its result: nobody's answer depends on whether the words could be kept.
            await asyncio.wait({keeping}, timeout=_KEEPING_S)

    async def aclose(self) -> None:
        """What was learned is written: it takes a moment, and cancelled it would be lost."""
        await self._tasks.wait()
