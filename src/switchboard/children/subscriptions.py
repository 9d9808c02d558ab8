"""Resources that somebody follows, and how the child is told so in its era."""

from collections.abc import Awaitable, Callable

from msgspec import Raw

from switchboard.children.links import Link
from switchboard.core.faults import Fault
from switchboard.core.tasks import TaskSet
from switchboard.wire.messages import RpcError, encode
from switchboard.wire.peer import PeerLost

Ask = Callable[[Link, str, bytes], Awaitable[Raw]]
Tell = Callable[[], None]


class Subscriptions:
    """Who follows what. The child is asked once for each resource, however many follow it."""

    def __init__(self, ask: Ask, tasks: TaskSet) -> None:
        self._ask = ask
        self._tasks = tasks
        self._followers: dict[str, list[Tell]] = {}
        # In the modern era a subscription is a request that stays open.
        self._open: dict[str, Callable[[], object]] = {}
        self._link: Link | None = None
        self._is_modern = False

    def __bool__(self) -> bool:
        return bool(self._followers)

    async def add(self, link: Link, uri: str, tell: Tell) -> Tell:
        """Follow a resource; what is returned ends it. Raises RpcError or PeerLost."""
        followers = self._followers.setdefault(uri, [])
        followers.append(tell)
        if len(followers) == 1:
            try:
                await self._begin(link, uri)
            except BaseException:
                self._forget(uri, tell)
                raise
        return lambda: self._end(uri, tell)

    def updated(self, uri: str) -> None:
        """The child says that a resource is not what it was."""
        for tell in tuple(self._followers.get(uri, ())):
            tell()

    def begin(self, link: Link, *, is_modern: bool) -> None:
        """A new process knows nothing of what the last one was asked to follow."""
        self._link, self._is_modern = link, is_modern
        self._open.clear()
        for uri in self._followers:
            self._tasks.start(self._begin_again(link, uri))

    async def _begin_again(self, link: Link, uri: str) -> None:
        try:
            await self._begin(link, uri)
        except (RpcError, PeerLost, Fault):
            return

    async def _begin(self, link: Link, uri: str) -> None:
        if self._is_modern:
            wanted = encode({"resourceSubscriptions": [uri]})
            task = self._tasks.start(self._listen(link, wanted))
            self._open[uri] = task.cancel
        else:
            await self._ask(link, "resources/subscribe", b'"uri":%b' % encode(uri))

    async def _listen(self, link: Link, wanted: bytes) -> None:
        try:
            await self._ask(link, "subscriptions/listen", b'"notifications":' + wanted)
        except (RpcError, PeerLost, Fault):
            return

    def _end(self, uri: str, tell: Tell) -> None:
        if not self._forget(uri, tell) or self._link is None:
            return
        if self._is_modern:
            self._open.pop(uri, lambda: None)()
        else:
            self._tasks.start(self._unsubscribe(self._link, uri))

    async def _unsubscribe(self, link: Link, uri: str) -> None:
        try:
            await self._ask(link, "resources/unsubscribe", b'"uri":%b' % encode(uri))
        except (RpcError, PeerLost, Fault):
            return

    def _forget(self, uri: str, tell: Tell) -> bool:
        """Whether nobody follows it any more."""
        followers = self._followers.get(uri, [])
        if tell in followers:
            followers.remove(tell)
        if followers or uri not in self._followers:
            return False
        del self._followers[uri]
        return True
