"""The listings of one child: asked for once, until it says that they changed or is started anew."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from switchboard.children.listings.listing import FEATURES, Kind, Listing, ToolListing
from switchboard.children.listings.listing_cache import ListingCache
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet

# How long a child that says again and again that a listing changed is heard once.
_QUIET_S = 0.25

# A listing, and whether the child still stood by it when it arrived.
Fetch = Callable[[Kind], Awaitable[tuple[Listing, bool]]]


class Listings:
    """What is known of a child's tools, prompts and resources."""

    def __init__(self, fetch: Fetch, tasks: TaskSet, cache: ListingCache | None = None) -> None:
        self._fetch = fetch
        self._tasks = tasks
        self._cache = cache
        self._known: dict[Kind, Listing] = {}
        self._fetching: dict[Kind, asyncio.Task[Listing]] = {}
        # How often the child said that a kind changed.
        self._changes: dict[Kind, int] = {}
        # What clients were told of another process, and may hold for true.
        self._told: dict[Kind, Listing] = {}
        # The kinds of which it is known what an earlier process listed, if it ever did.
        self.looked_up: set[Kind] = set()
        # Why a kind could not be listed when it was last asked for.
        self.failures: dict[Kind, Fault] = {}
        # Called with the feature whose listings are not what they were.
        self.on_changed: Callable[[str], None] = lambda _: None
        # The features whose change was announced just now, each with whether it changed since.
        self._announced: dict[str, bool] = {}

    def known(self, kind: Kind) -> Listing | None:
        """The listing if it is known without asking."""
        return self._known.get(kind)

    @property
    def known_tools(self) -> ToolListing | None:
        """The tools if they are known without asking."""
        known = self._known.get("tools")
        return known if isinstance(known, ToolListing) else None

    def shown(self, kind: Kind) -> Listing | None:
        """What clients hold for true: the listing, or that of a process before this one."""
        return self._known.get(kind) or self._told.get(kind)

    def is_asked(self, kind: Kind) -> bool:
        """Whether somebody waits for it now, also for the start that it takes."""
        return kind in self._fetching

    async def remembered(self, kind: Kind) -> Listing | None:
        """The listing of an earlier process, for clients to be told."""
        if (told := self._told.get(kind)) is not None:
            return told
        found = await self._cache.recall(kind) if self._cache is not None else None
        self.looked_up.add(kind)
        if found is not None:
            self._told[kind] = found
        return found

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
        if self._cache is not None:
            listing = await self._cache.keep(kind, listing)
        # News of a change may have come in the same bytes as the answer that it makes stale.
        if current and self._changes.get(kind) == changes:
            self._known[kind] = listing
        return listing

    def _got(self, kind: Kind, task: "asyncio.Task[Any]") -> None:
        if self._fetching.get(kind) is task:
            del self._fetching[kind]
        fault = None if task.cancelled() else task.exception()
        if isinstance(fault, Fault):
            self.failures[kind] = fault
        else:
            self.failures.pop(kind, None)

    def changed(self, feature: str) -> None:
        """The child says so: whoever asks next gets its listings of this feature anew."""
        self.forget(feature)
        self._announce(feature)

    def forget(self, feature: str) -> None:
        """Whoever asks next gets its listings of this feature anew. Nobody is told."""
        for kind, its_feature in FEATURES.items():
            if its_feature != feature:
                continue
            self._changes[kind] = self._changes.get(kind, 0) + 1
            self._known.pop(kind, None)
            # Who was told of the change and asks must not be given what was listed before it.
            self._fetching.pop(kind, None)

    def _announce(self, feature: str) -> None:
        """Tell at once, then once for all changes of the next moment: every client is told."""
        if feature in self._announced:
            self._announced[feature] = True
            return
        self._announced[feature] = False
        asyncio.get_running_loop().call_later(_QUIET_S, self._announce_again, feature)
        self.on_changed(feature)

    def _announce_again(self, feature: str) -> None:
        if self._announced.pop(feature):
            self._announce(feature)

    def begin(self) -> "asyncio.Task[None]":
        """Another process may offer other things. What differs from what was told is announced."""
        self._told |= self._known
        self._known.clear()
        return self._tasks.start(self._compare())

    async def _compare(self) -> None:
        told, self._told = self._told, {}
        for kind, before in told.items():
            try:
                now = await self.get(kind)
            except Fault:
                # Clients still hold it for true when the next process is there to be asked.
                self._told.setdefault(kind, before)
                continue
            if now.entries != before.entries:
                self.on_changed(FEATURES[kind])
