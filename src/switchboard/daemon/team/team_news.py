"""What gateways of a team tell each other, so that a client hears of a change wherever it is.

A listing that changed on one gateway is another on each, and so is a resource: clients list and
read at whichever the load balancer gives them.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager

from switchboard.children.child import Child
from switchboard.core.events import ConfigLoaded, Event
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.team.membership import Team
from switchboard.daemon.team.singletons import TeamSingletons
from switchboard.postgres.broadcast import Broadcast, News
from switchboard.postgres.followed import Resource
from switchboard.postgres.unusable import unusable

_CHANNEL = "switchboard_news"
_LISTED = ("tools", "prompts", "resources")
_UPDATED = "updated"
_FOLLOWED = "followed"
# Every client is told of each: what others say again within this time is told once.
_QUIET_S = 0.25
# After a database that could not be reached.
_RETRY_S = 0.5


class TeamNews:
    """One gateway among the others, as the `Elsewhere` of its children. Belongs to its loop."""

    def __init__(self, team: Team, runtime: Runtime, singletons: TeamSingletons) -> None:
        self._runtime = runtime
        self._singletons = singletons
        self._loop = asyncio.get_running_loop()
        self._tasks = TaskSet()
        self._table = team.followed()
        # By server: what clients of other gateways follow.
        self._theirs: dict[str, set[str]] = {}
        self._exchanging: asyncio.Task[None] | None = None
        self._is_stale = False
        # What clients were told of just now, each with whether it was said again since.
        self._told: dict[str, bool] = {}
        self._broadcast: Broadcast | None = None
        self._team = team
        self._beat_s = team.lease_s

    async def open(self) -> None:
        """Hear of the others from now on, and tell them. Raises a fault."""
        self._broadcast = await asyncio.to_thread(
            lambda: Broadcast(
                self._team.address, _CHANNEL, self._team.tag, self._hear, failure=unusable
            )
        )
        self._runtime.engine.pool.share(self)
        self._runtime.events.subscribe(self._config)
        self._exchange()
        self._tasks.start(self._look())

    async def aclose(self) -> None:
        """Tell what is left, and hear nothing more."""
        self._runtime.events.unsubscribe(self._config)
        await self._tasks.aclose()
        if self._broadcast is not None:
            await asyncio.to_thread(self._broadcast.close)
        await asyncio.to_thread(self._table.close)

    def _tell(self, *news: str) -> None:
        if self._broadcast is not None:
            self._broadcast.tell(news)

    def _config(self, event: Event, /) -> None:
        if isinstance(event, ConfigLoaded):
            # Another gateway may have told its clients before this one knew.
            for kind in _LISTED:
                self._tell(kind, "")

    # As `children.sharing.elsewhere.Elsewhere`

    def changed(self, server: str, feature: str, /) -> None:
        if self._singletons.child(server) is not None:
            if not self._singletons.is_held(server):
                # Whoever runs it tells.
                return
            self._singletons.changed(server, feature)
        self._tell(feature, server)

    def updated(self, server: str, uri: str, /) -> None:
        self._tell(_UPDATED, server, uri)

    def follows(self, server: str, /) -> None:
        del server
        self._exchange()

    def followed(self, server: str, /) -> Collection[str]:
        return self._theirs.get(server, ())

    # What others say

    def _hear(self, news: Sequence[News] | None) -> None:
        # On the thread of the notices. The loop may be gone by now.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._heard, news)

    def _heard(self, news: Sequence[News] | None) -> None:
        if news is None:
            self._anything()
            return
        for each in news:
            match each:
                case (kind, server) if kind in _LISTED:
                    for child in self._children(server):
                        child.listings.forget(kind)
                    self._announce(kind)
                case (kind, server, uri) if kind == _UPDATED:
                    for child in self._children(server):
                        child.updated_elsewhere(uri)
                case (kind,) if kind == _FOLLOWED:
                    self._exchange()
                case _:
                    # Of a newer version: whatever it means.
                    self._anything()

    def _anything(self) -> None:
        """Something was missed: whatever a client follows may be something else by now."""
        for child in self._children(""):
            for kind in _LISTED:
                child.listings.forget(kind)
            for uri in child.followed:
                child.updated_elsewhere(uri)
        for kind in _LISTED:
            self._announce(kind)
        self._exchange()

    def _children(self, server: str) -> Iterator[Child]:
        """Those of a server that several sessions use, or of all of them."""
        for session_id, child in self._runtime.engine.pool.by_session():
            if not session_id and server in {"", child.known_as}:
                yield child

    def _announce(self, kind: str) -> None:
        """Tell at once, then once for whatever the next moment brings."""
        if kind in self._told:
            self._told[kind] = True
            return
        board = self._runtime.boards.current
        if kind != "tools" and not board.listing:
            return
        self._told[kind] = False
        self._loop.call_later(_QUIET_S, self._announce_again, kind)
        self._runtime.announce(kind, "")

    def _announce_again(self, kind: str) -> None:
        if self._told.pop(kind):
            self._announce(kind)

    # Resources that clients follow

    def _exchange(self) -> None:
        """Say what is followed here, and find out what others follow."""
        self._is_stale = True
        if self._exchanging is None or self._exchanging.done():
            self._exchanging = self._tasks.start(self._exchanged())

    async def _look(self) -> None:
        """Who is gone follows nothing any more, and nobody says so."""
        while True:
            await asyncio.sleep(self._beat_s)
            self._exchange()

    async def _exchanged(self) -> None:
        while self._is_stale:
            self._is_stale = False
            ours: set[Resource] = {
                (child.known_as, uri) for child in self._children("") for uri in child.followed
            }
            try:
                is_news, theirs = await asyncio.to_thread(self._table.exchange, ours)
            except Fault:
                self._is_stale = True
                await asyncio.sleep(_RETRY_S)
                continue
            if is_news:
                self._tell(_FOLLOWED)
            self._theirs = {}
            for server, uri in theirs:
                self._theirs.setdefault(server, set()).add(uri)
            for child in self._children(""):
                child.follow_for_others()


@asynccontextmanager
async def sharing_news(
    team: Team, runtime: Runtime, singletons: TeamSingletons
) -> AsyncGenerator[TeamNews]:
    """Tell and hear for as long as the block runs. Raises a fault."""
    news = TeamNews(team, runtime, singletons)
    try:
        await news.open()
        yield news
    finally:
        await news.aclose()
