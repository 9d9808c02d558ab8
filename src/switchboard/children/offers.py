"""The listings of one child: asked for once, until it says that they changed or is started anew."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from switchboard.children.listing import Kind, Listing, ToolListing
from switchboard.core.faults import Fault
from switchboard.core.tasks import TaskSet

Fetch = Callable[[Kind], Awaitable[tuple[Listing, bool]]]


class Offers:
    """What is known of a child's tools, prompts and resources."""

    def __init__(self, fetch: Fetch, tasks: TaskSet) -> None:
        # The listing, and whether it was still the child's when it arrived.
        self._fetch = fetch
        self._tasks = tasks
        self._known: dict[Kind, Listing] = {}
        self._fetching: dict[Kind, asyncio.Task[Listing]] = {}
        # How often the child said that a kind changed.
        self._changes: dict[Kind, int] = {}
        # What clients were told of another process, and may hold for true.
        self._told: dict[Kind, Listing] = {}

    def known(self, kind: Kind) -> Listing | None:
        """The listing if it is known without asking."""
        return self._known.get(kind)

    @property
    def known_tools(self) -> ToolListing | None:
        """The tools if they are known without asking."""
        known = self._known.get("tools")
        return known if isinstance(known, ToolListing) else None

    async def get(self, kind: Kind) -> Listing:
        """The listing; whoever comes first asks for it, the rest wait with them."""
        known = self._known.get(kind)
        if known is not None:
            return known
        fetching = self._fetching.get(kind)
        if fetching is None:
            fetching = self._fetching[kind] = self._tasks.start(self._get(kind))
            fetching.add_done_callback(lambda task: self._got(kind, task))
        return await asyncio.shield(fetching)

    async def _get(self, kind: Kind) -> Listing:
        changes = self._changes.get(kind)
        listing, current = await self._fetch(kind)
        # News of a change may have come in the same bytes as the answer that it makes stale.
        if current and self._changes.get(kind) == changes:
            self._known[kind] = listing
        return listing

    def _got(self, kind: Kind, task: "asyncio.Task[Any]") -> None:
        if self._fetching.get(kind) is task:
            del self._fetching[kind]
        if not task.cancelled():
            task.exception()

    def forget(self, *kinds: Kind) -> None:
        """Whoever asks next gets them anew."""
        for kind in kinds:
            self._changes[kind] = self._changes.get(kind, 0) + 1
            self._known.pop(kind, None)
            # Who was told of the change and asks must not be given what was listed before it.
            self._fetching.pop(kind, None)

    def recalled(self, kind: Kind, listing: Listing) -> None:
        """Clients are told this from memory."""
        self._told[kind] = listing

    def start_anew(self) -> None:
        """Another process may offer other things."""
        self._told |= self._known
        self._known.clear()

    async def compare(self, announce: Callable[[Kind], None]) -> None:
        """Announce what is not so any more as clients were told."""
        told, self._told = self._told, {}
        for kind, before in told.items():
            try:
                now = await self.get(kind)
            except Fault:
                # Clients still hold it for true when the next process is there to be asked.
                self._told.setdefault(kind, before)
                continue
            if now.entries != before.entries:
                announce(kind)
