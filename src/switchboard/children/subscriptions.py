"""What a child is asked to announce, in the way of its era: changed listings and resources."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping

from msgspec import Raw

from switchboard.children.greeting import Greeting
from switchboard.children.link import Link
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.sessions import Era
from switchboard.wire.messages import RpcError, encode
from switchboard.wire.pending import PeerLost

# How long a child may take to answer what nobody waits for, before the next word to it.
_PATIENCE_S = 10.0

Ask = Callable[[Link, str, bytes], Awaitable[Raw]]
# Told the URI that the child names: of the resource, or of a part of it.
Tell = Callable[[str], None]
# Where a part of a resource begins.
_BORDERS = "/?#"
_CHANGES = "listChanged"


class _Followed:
    """One resource."""

    def __init__(self) -> None:
        self.tells: list[Tell] = []
        # The child is asked for one thing at a time: over HTTP one request can overtake another.
        self.turn = asyncio.Lock()
        # Who was asked for it, and said yes.
        self.link: Link | None = None
        # In the modern era a subscription is a request that stays open.
        self.open: asyncio.Task[None] | None = None
        # Whether others follow it at a child of their own, and count on what this one says.
        self.is_wanted_elsewhere = False

    @property
    def is_wanted(self) -> bool:
        """Whether the child should be asked for it."""
        return bool(self.tells) or self.is_wanted_elsewhere


class Subscriptions:
    """Who follows what. The child is asked once for each resource, however many follow it."""

    def __init__(self, ask: Ask, tasks: TaskSet) -> None:
        self._ask = ask
        self._tasks = tasks
        self._followed: dict[str, _Followed] = {}
        self._is_modern = False
        # Told when another set of resources is followed here.
        self.on_followed: Callable[[], None] = lambda: None
        # Told of a resource that is followed for others from now on: it may have changed before.
        self.on_begun: Callable[[str], None] = lambda _: None

    @property
    def here(self) -> Collection[str]:
        """What clients of ours follow."""
        return [uri for uri, followed in self._followed.items() if followed.tells]

    def __bool__(self) -> bool:
        return any(followed.tells for followed in self._followed.values())

    async def add(self, link: Link, uri: str, tell: Tell) -> Callable[[], None]:
        """Follow a resource; what is returned ends it. Raises RpcError or PeerLost."""
        followed = self._followed.setdefault(uri, _Followed())
        followed.tells.append(tell)
        if len(followed.tells) == 1:
            self.on_followed()
        try:
            async with followed.turn:
                await self._begin(link, uri, followed)
        except BaseException:
            self._end(uri, tell)
            raise
        return lambda: self._end(uri, tell)

    def updated(self, uri: str) -> None:
        """The child says that a resource is not what it was."""
        for whole, followed in self._followed.items():
            if _is_part(uri, whole):
                for tell in tuple(followed.tells):
                    tell(uri)

    def follow_for_others(self, uris: Collection[str], link: Link | None) -> None:
        """Ask the child for these, too, while it runs, and for no others of that kind."""
        for uri in uris:
            followed = self._followed.setdefault(uri, _Followed())
            if not followed.is_wanted_elsewhere:
                followed.is_wanted_elsewhere = True
                if link is not None:
                    self._tasks.start(self._begin_again(link, uri, followed))
        for uri, followed in tuple(self._followed.items()):
            if followed.is_wanted_elsewhere and uri not in uris:
                followed.is_wanted_elsewhere = False
                if not followed.is_wanted:
                    self._tasks.start(self._leave(uri, followed))

    def begin(self, link: Link, greeting: Greeting) -> None:
        """A new process knows nothing of what the last one was asked to announce."""
        self._is_modern = greeting.era is Era.MODERN
        # The other era announces changes of listings unasked.
        listings = ("tools", "prompts", "resources") if self._is_modern else ()
        wanted = {f"{kind}ListChanged": True for kind in listings if greeting.can(kind, _CHANGES)}
        if wanted:
            self._tasks.start(self._listen(link, wanted))
        for uri, followed in self._followed.items():
            self._tasks.start(self._begin_again(link, uri, followed))

    async def _begin_again(self, link: Link, uri: str, followed: _Followed) -> None:
        async with followed.turn:
            if followed.is_wanted:
                await self._try(self._begin(link, uri, followed))
        if followed.is_wanted_elsewhere:
            self.on_begun(uri)

    async def _begin(self, link: Link, uri: str, followed: _Followed) -> None:
        if followed.link is link:
            return
        if self._is_modern:
            wanted = {"resourceSubscriptions": [uri]}
            followed.open = self._tasks.start(self._listen(link, wanted))
        else:
            followed.open = None
            await self._ask(link, "resources/subscribe", b'"uri":%b' % encode(uri))
        followed.link = link

    async def _listen(self, link: Link, wanted: Mapping[str, object]) -> None:
        try:
            await self._ask(link, "subscriptions/listen", b'"notifications":' + encode(wanted))
        except (RpcError, PeerLost, Fault):
            return

    def _end(self, uri: str, tell: Tell) -> None:
        followed = self._followed.get(uri)
        if followed is None or tell not in followed.tells:
            return
        followed.tells.remove(tell)
        if not followed.tells:
            self.on_followed()
        if not followed.is_wanted:
            self._tasks.start(self._leave(uri, followed))

    async def _leave(self, uri: str, followed: _Followed) -> None:
        async with followed.turn:
            if not followed.is_wanted and followed.link is not None:
                link, followed.link = followed.link, None
                if followed.open is not None:
                    followed.open.cancel()
                    followed.open = None
                else:
                    unsubscribe = b'"uri":%b' % encode(uri)
                    await self._try(self._ask(link, "resources/unsubscribe", unsubscribe))
        # Meanwhile somebody may have begun to follow it again, and waits for their turn.
        if not followed.is_wanted and self._followed.get(uri) is followed:
            del self._followed[uri]

    async def _try(self, work: Awaitable[object]) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await work
        except (RpcError, PeerLost, Fault, TimeoutError):
            return


def _is_part(uri: str, whole: str) -> bool:
    """Whether it is the resource itself or one below it: the protocol lets a child name either."""
    if not uri.startswith(whole):
        return False
    rest = uri.removeprefix(whole)
    return not rest or rest[0] in _BORDERS or whole.endswith("/")
