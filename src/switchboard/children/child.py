"""One child server, as those above see it: what it offers, and what it answers.

Its ends and errors become faults here; nobody above sees a process or an error of the protocol.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

from msgspec import Raw

from switchboard.children.authorization import OfferLogin
from switchboard.children.connection import ChildLimits, Connection
from switchboard.children.conversation import Conversation
from switchboard.children.inbound.server_requests import ServerRequests
from switchboard.children.link import Link, OpenLink
from switchboard.children.listings.listing import Kind, Listing, ToolListing
from switchboard.children.listings.listing_cache import ListingCache
from switchboard.children.listings.listings import Listings
from switchboard.children.reaching.sign_of_life import SignOfLife
from switchboard.children.schema import ServerEntry
from switchboard.children.subscriptions import Subscriptions, Tell
from switchboard.core.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Events
from switchboard.wire.messages import encode

Result = Coroutine[Any, Any, Raw]


class Child:
    """A server behind Switchboard."""

    def __init__(
        self,
        entry: ServerEntry,
        *,
        limits: ChildLimits,
        open_link: OpenLink,
        events: Events,
        # Whether one session alone will ever use it.
        is_own: bool = False,
        cache: ListingCache | None = None,
        # Shows a client's user where to log in, for a server that wants it.
        offer_login: OfferLogin | None = None,
    ) -> None:
        self.entry = entry
        self.calls = 0
        self._tasks = TaskSet()
        self._requests = ServerRequests(entry.name)
        self.connection = Connection(
            entry, self._requests, limits=limits, open_link=open_link, events=events, is_own=is_own
        )
        self.conversation = Conversation(
            self.connection, self._requests, events, self._tasks, offer_login
        )
        self._sign_of_life = SignOfLife(self.connection)
        self.listings = Listings(self.conversation.fetch, self._tasks, cache)
        self._subscriptions = Subscriptions(self.conversation.ask_plainly, self._tasks)
        self.conversation.is_repeatable = self._is_repeatable
        self._requests.on_changed = self.listings.changed
        self._requests.on_updated = self._subscriptions.updated
        self.connection.on_started = self._started
        self.connection.is_needed = self._subscriptions.__bool__

    def _started(self, link: Link) -> None:
        self.conversation.begin(link)
        self._subscriptions.begin(link, self.connection.greeting)
        self.listings.begin()

    def call(
        self, name: str, arguments: Raw, channel: Channel | None = None, judged: object = None
    ) -> Result:
        """The child's result of one of its tools, unopened.

        With `judged` the call goes to that link, or fails: another process may mean another thing
        by the same name.
        """
        self.calls += 1
        return self.conversation.ask(
            "tools/call", _call_params(name, arguments), channel, tool=name, judged=judged
        )

    def check_login(self, name: str, arguments: Raw) -> None:
        """Raises a fault where it has said that our login is not enough for this very call.

        For whoever is about to ask a person: nobody should agree to what cannot be done.
        """
        self.conversation.refusals.check(_call_params(name, arguments))

    async def tools_now(self, channel: Channel | None = None) -> ToolListing:
        """Its tools as the process lists them that a call would reach; it is started for that."""
        if self.connection.link is None:
            with self._requests.audience.waiting(channel):
                await self.conversation.with_login(channel, self.connection.ready)
        return await self.tools(channel)

    def leave(self, session_id: str) -> None:
        """A session that it served has ended."""
        self._requests.audience.leave(session_id)

    def doubt(self) -> None:
        """A call ran out of time: find out whether it works, or hangs."""
        self._tasks.start(self._sign_of_life.want())

    async def _is_repeatable(self, tool: str) -> bool:
        """Whether it says so itself, and its word counts."""
        if not self.entry.trust_annotations:
            return False
        try:
            listed = (await self.tools()).tools.get(tool)
        except Fault:
            return False
        said = listed.annotations if listed is not None else None
        return said is not None and bool(said.read_only_hint or said.idempotent_hint)

    async def subscribe(self, uri: str, tell: Tell) -> Callable[[], None]:
        """Follow a resource; what is returned ends it. Raises a fault."""
        return await self.connection.recovery.persist(partial(self._subscribe, uri, tell))

    async def _subscribe(self, uri: str, tell: Tell) -> Callable[[], None]:
        async with self.connection.link_for("subscribe") as link:
            return await self._subscriptions.add(link, uri, tell)

    async def tools(self, channel: Channel | None = None) -> ToolListing:
        """Its tools, asked for once until it says that they changed or is started anew."""
        return cast("ToolListing", await self.listing("tools", channel))

    async def listing(self, kind: Kind, channel: Channel | None = None) -> Listing:
        """What it offers of a kind; nothing, if it has no such thing."""
        known = self.listings.known(kind)
        if known is not None:
            return known
        with self._requests.audience.waiting(channel if self.connection.link is None else None):
            return await self.conversation.with_login(channel, lambda: self.listings.get(kind))

    async def remembered(self, kind: Kind) -> Listing | None:
        """What it offered of a kind before, while it does not run to be asked."""
        return await self.listings.remembered(kind) if self.connection.link is None else None

    @property
    def is_running(self) -> bool:
        """Whether it can be asked without being started first."""
        return self.connection.link is not None

    @property
    def pid(self) -> int:
        """Its process, or 0 when none runs."""
        return self.connection.pid

    @property
    def is_modern(self) -> bool:
        """Whether its results carry what the modern era wants of them."""
        return bool(self.connection.greeting.meta)

    async def drain(self) -> None:
        """End it for good as soon as nobody waits for it."""
        try:
            await self.connection.wait_until_unused()
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """End it for good."""
        await self.connection.aclose()
        await self._tasks.aclose()


def _call_params(name: str, arguments: Raw) -> tuple[bytes, Raw]:
    return b'{"name":%b,"arguments":' % encode(name), arguments
