"""One child server, as those above see it: what it offers, and what it answers.

Its ends and errors become faults here; nobody above sees a process or an error of the protocol.
"""

from collections.abc import Callable, Collection, Coroutine
from functools import partial
from typing import Any, cast

from msgspec import Raw

from switchboard.children.authorization import OfferLogin
from switchboard.children.connection import Connection
from switchboard.children.conversation import Conversation
from switchboard.children.inbound.server_requests import ServerRequests
from switchboard.children.link import Link, MakePeer, OpenLink
from switchboard.children.listings.listing import Kind, Listing, ToolListing
from switchboard.children.listings.listing_cache import ListingCache
from switchboard.children.listings.listings import Listings
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.reaching.sign_of_life import SignOfLife
from switchboard.children.schema import ServerEntry, known_to_team
from switchboard.children.sharing.callers import Callers
from switchboard.children.sharing.elsewhere import Elsewhere, Nowhere
from switchboard.children.subscriptions import Subscriptions, Tell
from switchboard.core.calls.clock import Clock
from switchboard.core.calls.launches import Launch
from switchboard.core.channels.channel import Channel
from switchboard.core.events import ChildSetApart
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Events
from switchboard.wire.messages import MessageId, encode

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
        audience = self._requests.audience
        self.is_single = entry.scope == "singleton"
        # What gateways of a team call it.
        self.known_as = known_to_team(entry)
        self._requests.may_be_set_apart = not self.is_single
        self._events = events
        self.is_own = is_own
        # Whether it asks without saying whom: then a session has a child of its own, but for the
        # one that it was alone with, which keeps this one.
        self.is_set_apart = False
        self.kept_for = ""
        # What its tools launch, each with the running process whose definition was judged.
        self.judged: dict[Launch, Launch] = {}
        self._open_link = open_link
        self.connection = Connection(
            entry, self._requests, limits=limits, open_link=self._open, events=events, is_own=is_own
        )
        connection = self.connection
        self.callers = Callers(lambda: connection.in_flight, lambda: connection.last_used)
        self.conversation = Conversation(
            self.connection, self._requests, events, self._tasks, offer_login
        )
        self._sign_of_life = SignOfLife(self.connection, lambda: audience.answers)
        self.listings = Listings(self.conversation.fetch, self._tasks, cache)
        self._subscriptions = Subscriptions(self.conversation.ask_plainly, self._tasks)
        self.conversation.is_repeatable = self._is_repeatable
        self._requests.on_changed = self.listings.changed
        self._requests.on_updated = self._updated
        self._requests.on_question = self._set_apart
        self.connection.on_starting = audience.begin_anew
        self.connection.on_started = self._started
        self.connection.on_late = audience.answered
        self.connection.workload = lambda: (audience.callers(), audience.answers > 0)
        self.connection.is_needed = self._subscriptions.__bool__
        self._elsewhere: Elsewhere = Nowhere()

    def be_one_of_many(self, elsewhere: Elsewhere) -> None:
        """Others have the same server, and want to know what this one says."""
        self._elsewhere = elsewhere
        self._subscriptions.on_followed = partial(elsewhere.follows, self.known_as)
        self._subscriptions.on_begun = partial(elsewhere.updated, self.known_as)
        self.follow_for_others()

    def follow_for_others(self) -> None:
        """Follow what others follow now, while it runs."""
        wanted = self._elsewhere.followed(self.known_as)
        self._subscriptions.follow_for_others(wanted, self.connection.link)

    @property
    def followed(self) -> Collection[str]:
        """The resources that clients of ours follow."""
        return self._subscriptions.here

    def _updated(self, uri: str) -> None:
        self._subscriptions.updated(uri)
        self._elsewhere.updated(self.known_as, uri)

    def updated_elsewhere(self, uri: str) -> None:
        """The same server of another says so, and clients of ours may follow it here."""
        self._subscriptions.updated(uri)

    async def _open(self, entry: ServerEntry, make_peer: MakePeer, *, timeout_s: float) -> Link:
        link = await self._open_link(entry, make_peer, timeout_s=timeout_s)
        # Before it is greeted: it may want to reach something while it starts.
        link.attend(self._requests.audience.only)
        return link

    def _started(self, link: Link) -> None:
        self.judged.clear()
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
        if self.conversation.refusals.known:
            self.conversation.refusals.check(_call_params(name, arguments))

    async def tools_now(self, channel: Channel | None = None) -> ToolListing:
        """Its tools as the process lists them that a call would reach; it is started for that."""
        if self.connection.link is None:
            with self._requests.audience.waiting(channel):
                caller = channel.holder if channel is not None else ""
                ready = partial(self.connection.ready, caller)
                await self.conversation.with_login(channel, ready)
        return await self.tools(channel)

    def leave(self, session_id: str) -> None:
        """A session that it served has ended."""
        self._requests.audience.leave(session_id)
        self.connection.back_offs.leave(session_id)

    def _set_apart(self, method: str, session_id: str) -> None:
        self.kept_for = session_id
        if not self.is_set_apart and not self.is_own and not self.is_single:
            self.is_set_apart = True
            self._events.emit(ChildSetApart(child=self.entry.label, method=method))

    def count_start(self, clock: Clock) -> None:
        """It did not run when the work of a call began: what its start took was no work."""
        started_at = self.connection.started_at
        if started_at > clock.begun_at > 0:
            clock.queued_s += started_at - clock.begun_at

    def doubt(self, clock: Clock, limit_s: float | None) -> None:
        """A call ran out of time: find out whether it works, or hangs.

        One whose client was content with less than its limit says little about the child.
        """
        had_its_time = limit_s is not None and clock.allowed_s >= limit_s
        self._tasks.start(self._sign_of_life.want(had_its_time=had_its_time))

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

    def holder_of(self, message_id: MessageId) -> str:
        """Whom a request of ours is for; empty where it is for nobody in particular."""
        channel = self._requests.audience.channels.get(message_id)
        return channel.holder if channel is not None else ""

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
