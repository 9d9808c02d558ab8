"""One child server, as those above see it: what it offers, and what it answers.

Its ends and errors become faults here; nobody above sees a process or an error of the protocol.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

from msgspec import MsgspecError, Raw

from switchboard.children.declaring import declared
from switchboard.children.faults import (
    discreet_error,
    fault_from_malformed_listing,
    fault_from_rpc,
    fault_from_timeout,
)
from switchboard.children.greeting import Greeting, modern_capabilities, modern_meta
from switchboard.children.inbox import Inbox
from switchboard.children.life import Life, Limits, OpenLink
from switchboard.children.links import Link
from switchboard.children.listing import (
    METHODS,
    Kind,
    Listing,
    ToolListing,
    fetch_listing,
    fetch_tools,
    without_misleading,
)
from switchboard.children.memory import Memory
from switchboard.children.offers import Offers
from switchboard.children.rounds import settled
from switchboard.children.schema import ServerEntry
from switchboard.children.subscriptions import Subscriptions, Tell
from switchboard.core.channel import Channel
from switchboard.core.events import ChildToolsSkipped
from switchboard.core.faults import Fault
from switchboard.core.levels import LEVELS, reaches
from switchboard.core.ports import Events
from switchboard.core.sessions import Era, Session
from switchboard.core.tasks import TaskSet
from switchboard.wire.eras import LOG_LEVEL_KEY
from switchboard.wire.messages import Parts, RpcError, encode
from switchboard.wire.pending import PeerLost

_NOTHING = Listing()
_FEATURES: dict[Kind, str] = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resources",
}


class Child:
    """A server behind Switchboard."""

    def __init__(
        self,
        entry: ServerEntry,
        *,
        limits: Limits,
        open_link: OpenLink,
        events: Events,
        # Whether one session alone will ever use it.
        is_own: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.entry = entry
        self.limits = limits
        self._events = events
        self._tasks = TaskSet()
        self._inbox = Inbox(entry.name)
        self._inbox.on_changed = self._changed
        self._life = Life(
            entry,
            limits=limits,
            open_link=open_link,
            events=events,
            on_request=self._inbox.request,
            on_notification=self._inbox.notification,
            capabilities=lambda: declared(self.client, entry.scope, is_own=is_own),
            on_started=self._started,
            on_crashed=self._crashed,
            is_needed=lambda: bool(self._subscriptions),
        )
        self._offers = Offers(self._fetch, self._tasks)
        self._subscriptions = Subscriptions(self._ask_plainly, self._tasks)
        self._inbox.on_updated = self._subscriptions.updated
        self._greeting = Greeting(era=Era.HANDSHAKE, protocol="")
        # What every request to a child of the modern era says of itself; empty for the other.
        self._meta = b""
        self._level = ""
        self._memory = memory
        self.calls = 0
        # The session that used it last. A process keeps what it was told when it started.
        self.client: Session | None = None
        # Called with the kind of listing that is not what it was.
        self.on_changed: Callable[[str], None] = lambda _: None

    # What it is asked

    def call(
        self, name: str, arguments: Raw, channel: Channel | None = None
    ) -> Coroutine[Any, Any, Raw]:
        """The child's result of one of its tools, unopened."""
        self.calls += 1
        head = b'{"name":%b,"arguments":' % encode(name)
        return self.ask("tools/call", (head, arguments), channel)

    async def ask(self, method: str, params: Parts, channel: Channel | None = None) -> Raw:
        """The child's result, unopened. The params lack their closing brace."""
        life = self._life
        life.take()
        try:
            link = life.link or await self._ready_for(channel)
            if channel is not None and channel.log_level and self._greeting.offers("logging"):
                await self._set_level(link, channel.log_level)
            try:
                result = await self._send(link, method, params, channel, b"")
                if not self._meta:
                    return result
                send = partial(self._send, link, method, params, channel)
                return await settled(self.entry.name, channel, self._inbox.pace, send, result)
            except RpcError as refusal:
                error = self._inbox.refused(discreet_error(refusal, link.hidden.book), channel)
                raise fault_from_rpc(self.entry.name, error, link.hidden) from error
            except PeerLost as lost:
                raise await life.lost(link, lost) from lost
        except asyncio.CancelledError:
            await self._inbox.called_off(channel)
            raise
        finally:
            life.release()

    async def _ready_for(self, channel: Channel | None) -> Link:
        """While it starts, it may ask whoever waits for it."""
        with self._inbox.waiting(channel):
            return await self._life.ready()

    async def _send(
        self, link: Link, method: str, params: Parts, channel: Channel | None, more: bytes
    ) -> Raw:
        peer = link.peer
        # The id of the request is its progress token too: one number that tells both apart.
        token = peer.pending.next_id
        said = self._introduction(channel) if self._meta else b""
        if channel is None:
            tail = b',"_meta":{%b"progressToken":%d}}' % (said, token)
            return await peer.request(method, (*params, more, tail))
        tail = b',"_meta":{%b%b"progressToken":%d}}' % (channel.meta, said, token)
        channels = self._inbox.channels
        channels[token] = channel
        try:
            return await peer.request(method, (*params, more, tail))
        finally:
            del channels[token]

    def _introduction(self, channel: Channel | None) -> bytes:
        """What a request of the modern era says of us and of the client."""
        if channel is None:
            return b"%b,%b," % (self._meta, modern_capabilities(b"{}"))
        said = b"%b,%b," % (self._meta, modern_capabilities(channel.declared))
        if channel.log_level:
            said += b"%b:%b," % (encode(LOG_LEVEL_KEY), encode(channel.log_level))
        return said

    async def _ask_plainly(self, link: Link, method: str, members: bytes) -> Raw:
        """Ask for ourselves, in the name of no client."""
        if self._meta:
            meta = b'"_meta":{%b}' % self._introduction(None).rstrip(b",")
            members = b"%b,%b" % (members, meta) if members else meta
        return await link.peer.request(method, (b"{%b}" % members,))

    def notify(self, method: str) -> None:
        """Tell a running child of the handshake era something that its client said."""
        if self._life.link is not None and not self._meta:
            self._life.link.peer.notify(method)

    # What it offers

    async def tools(self, channel: Channel | None = None) -> ToolListing:
        """Its tools, asked for once until it says that they changed or is started anew."""
        return cast("ToolListing", await self.offered("tools", channel))

    async def offered(self, kind: Kind, channel: Channel | None = None) -> Listing:
        """What it offers of a kind; nothing, if it has no such thing."""
        with self._inbox.waiting(channel if self._life.link is None else None):
            return await self._offers.get(kind)

    def known(self, kind: Kind) -> Listing | None:
        """What it offers of a kind if that is known without asking."""
        return self._offers.known(kind)

    def remembered(self, kind: Kind) -> Listing | None:
        """What it offered of a kind before, while it does not run to be asked."""
        if self._memory is None or self._life.link is not None:
            return None
        found = self._memory.recall(kind)
        if found is not None:
            self._offers.recalled(kind, found)
        return found

    @property
    def known_tools(self) -> ToolListing | None:
        """Its tools if they are known without asking."""
        return self._offers.known_tools

    async def _fetch(self, kind: Kind) -> tuple[Listing, bool]:
        life = self._life
        life.take()
        try:
            link = life.link or await life.ready()
            # Every child is asked for its tools: some have them and do not declare it.
            if kind != "tools" and not self._greeting.offers(_FEATURES[kind]):
                if self._memory is not None:
                    self._memory.keep(kind, _NOTHING)
                return _NOTHING, life.link is link
            listing = await self._list(link, kind)
            if self._memory is not None:
                self._memory.keep(kind, listing)
            return listing, life.link is link
        finally:
            life.release()

    async def _list(self, link: Link, kind: Kind) -> Listing:
        ask = partial(self._ask_plainly, link, METHODS[kind])
        try:
            async with asyncio.timeout(self.limits.rpc_s):
                if kind == "tools":
                    listing = await fetch_tools(ask)
                    if self._meta and self.entry.transport == "http":
                        listing = without_misleading(listing)
                else:
                    listing = await fetch_listing(kind, ask)
        except MsgspecError as error:
            raise fault_from_malformed_listing(self.entry.name, error) from error
        except RpcError as error:
            raise fault_from_rpc(self.entry.name, error, link.hidden) from error
        except PeerLost as lost:
            raise await self._life.lost(link, lost) from lost
        except TimeoutError:
            raise fault_from_timeout(
                self.entry.name, f"list its {kind}", self.limits.rpc_s, "child-timeout"
            ) from None
        if listing.malformed:
            skipped = ChildToolsSkipped(child=self.entry.name, positions=listing.malformed)
            self._events.emit(skipped)
        return listing

    def _changed(self, kind: str) -> None:
        kinds: list[Kind] = [each for each, feature in _FEATURES.items() if feature == kind]
        self._offers.forget(*kinds)
        self.on_changed(kind)

    def can(self, feature: str) -> bool:
        """Whether it declared a feature when it was last started."""
        return self._greeting.offers(feature)

    # What it is followed for

    async def subscribe(self, uri: str, tell: Tell) -> Callable[[], None]:
        """Follow a resource; what is returned ends it. Raises a fault."""
        self._life.take()
        try:
            link = await self._life.ready()
            try:
                async with asyncio.timeout(self.limits.rpc_s):
                    return await self._subscriptions.add(link, uri, tell)
            except RpcError as error:
                raise fault_from_rpc(self.entry.name, error, link.hidden) from error
            except PeerLost as lost:
                raise await self._life.lost(link, lost) from lost
            except TimeoutError:
                raise fault_from_timeout(
                    self.entry.name, "subscribe", self.limits.rpc_s, "child-timeout"
                ) from None
        finally:
            self._life.release()

    async def _set_level(self, link: Link, level: str) -> None:
        """The chattiest level that anybody wants; each channel drops what its client does not."""
        if self._meta or level not in LEVELS or (self._level and reaches(level, self._level)):
            return
        self._level = level
        self._tasks.start(self._say_level(link, level))
        # It goes out before what waits to be sent, whose log messages it is about.
        await asyncio.sleep(0)

    async def _say_level(self, link: Link, level: str) -> None:
        try:
            await self._ask_plainly(link, "logging/setLevel", b'"level":%b' % encode(level))
        except (RpcError, PeerLost, Fault):
            return

    # Its life

    def _started(self, link: Link, greeting: Greeting) -> None:
        self._offers.start_anew()
        self._greeting = greeting
        self._level = ""
        self._meta = modern_meta(greeting.protocol) if greeting.era is Era.MODERN else b""
        self._inbox.about = lambda: link.peer.about
        self._inbox.hide = link.hidden.book
        self._follow_changes(link, greeting)
        self._subscriptions.begin(link, is_modern=bool(self._meta))
        self._tasks.start(self._offers.compare(lambda kind: self.on_changed(_FEATURES[kind])))

    def _crashed(self) -> None:
        if self._subscriptions and not self._life.is_over:
            # Who follows a resource does not ask again by itself.
            self._tasks.start(self._come_back())

    async def _come_back(self) -> None:
        try:
            await self._life.ready()
        except Fault:
            return

    def _follow_changes(self, link: Link, greeting: Greeting) -> None:
        """The modern era announces changes only to those who listen."""
        if greeting.era is not Era.MODERN:
            return
        wanted = {
            f"{kind}ListChanged": True
            for kind in ("tools", "prompts", "resources")
            if greeting.can(kind, "listChanged")
        }
        if wanted:
            self._tasks.start(self._listen(link, encode(wanted)))

    async def _listen(self, link: Link, wanted: bytes) -> None:
        try:
            await self._ask_plainly(link, "subscriptions/listen", b'"notifications":' + wanted)
        except (RpcError, PeerLost, Fault):
            return

    @property
    def is_modern(self) -> bool:
        """Whether its results carry what the modern era wants of them."""
        return bool(self._meta)

    @property
    def is_running(self) -> bool:
        """Whether it can be asked without being started first."""
        return self._life.link is not None

    @property
    def in_flight(self) -> int:
        """How many wait for it."""
        return self._life.in_flight

    @property
    def age_s(self) -> float:
        """How long it has been running."""
        return self._life.age_s

    @property
    def last_fault(self) -> Fault | None:
        """Why it failed last."""
        return self._life.last_fault

    @property
    def pid(self) -> int:
        """Its process, or 0 when none runs."""
        return self._life.link.pid if self._life.link is not None else 0

    async def start(self) -> None:
        """Start it if it does not run. Raises a fault."""
        await self._life.ready()

    async def stop(self) -> None:
        """End its process; the next request starts another."""
        await self._life.stop()

    async def drain(self) -> None:
        """End it for good as soon as nobody waits for it."""
        try:
            await self._life.drain()
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """End it for good."""
        await self._life.aclose()
        await self._tasks.aclose()
