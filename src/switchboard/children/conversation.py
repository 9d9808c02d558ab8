"""What one child is asked and told, in the words of its era."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from msgspec import MsgspecError, Raw

from switchboard.children.authorization import OfferLogin
from switchboard.children.connection import Connection
from switchboard.children.faults import (
    discreet_error,
    fault_from_malformed_listing,
    fault_from_restart,
    fault_from_rpc,
)
from switchboard.children.greeting import modern_capabilities
from switchboard.children.inbound.input_rounds import settle
from switchboard.children.inbound.server_requests import ServerRequests
from switchboard.children.known_refusals import KnownRefusals
from switchboard.children.link import Link
from switchboard.children.listings.listing import (
    FEATURES,
    METHODS,
    Kind,
    Listing,
    ToolListing,
    fetch_listing,
    without_invalid_headers,
)
from switchboard.children.reaching.interruption import Interruption
from switchboard.children.reaching.recovery import MOST_REPEATS
from switchboard.core.channels.channel import Channel
from switchboard.core.events import ChildTalkedNonsense, ChildToolsSkipped
from switchboard.core.faults import Fault, ScopeMissing
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Events
from switchboard.core.text.levels import LEVELS, reaches
from switchboard.wire.eras import LOG_LEVEL_KEY
from switchboard.wire.messages import Parts, RpcError, encode
from switchboard.wire.pending import PeerLost

T = TypeVar("T")

LOGIN_REQUIRED = "login-required"
_ORDERS = "its title or instructions give a model orders, and are shown to nobody"
_NOTHING = Listing()


async def _never(_: str) -> bool:
    return False


class Conversation:
    """Asks one child, for clients and for ourselves."""

    def __init__(
        self,
        connection: Connection,
        requests: ServerRequests,
        events: Events,
        tasks: TaskSet,
        offer_login: OfferLogin | None = None,
    ) -> None:
        self._connection = connection
        self._name = connection.entry.name
        # What the child asks meanwhile.
        self._requests = requests
        self._events = events
        self._tasks = tasks
        self._offer_login = offer_login
        self._level = ""
        self.refusals = KnownRefusals()
        # Whether a tool says of itself that to call it twice does no more than to call it once.
        self.is_repeatable: Callable[[str], Awaitable[bool]] = _never

    def begin(self, link: Link) -> None:
        """A new process has been told nothing yet."""
        self._level = ""
        self._requests.link = link

    # For clients

    def ask(
        self,
        method: str,
        params: Parts,
        channel: Channel | None = None,
        *,
        tool: str = "",
        judged: object = None,
    ) -> Coroutine[Any, Any, Raw]:
        """The child's result, unopened. The params lack their closing brace.

        `tool` is the tool that is called; everything else only reads. `judged` is the link that
        somebody agreed to, if anybody did.
        """
        if self._offer_login is None:
            # Nothing around it: every call pays for each coroutine that it passes.
            return self._ask(method, params, channel, tool, judged)
        ask = partial(self._ask, method, params, channel, tool, judged)
        return self._noted(params, partial(self.with_login, channel, ask))

    async def _noted(self, params: Parts, ask: Callable[[], Awaitable[Raw]]) -> Raw:
        try:
            return await ask()
        except ScopeMissing as fault:
            self.refusals.note(params, fault)
            raise

    async def with_login(self, channel: Channel | None, ask: Callable[[], Awaitable[T]]) -> T:
        """What somebody wants of the child; if it wants a login first, they are shown where."""
        try:
            return await ask()
        except Fault as fault:
            offer = self._offer_login
            if offer is None or channel is None or fault.reason != LOGIN_REQUIRED:
                raise
            # Whoever wants a login has done nothing yet.
            if not await offer(self._connection.entry, channel):
                raise
        return await ask()

    async def _ask(
        self, method: str, params: Parts, channel: Channel | None, tool: str, judged: object
    ) -> Raw:
        connection = self._connection
        if judged is not None and connection.link is not judged:
            raise fault_from_restart(self._name)
        connection.take()
        try:
            link = connection.ready_link or await self._ready_for(channel)
            if judged is not None and link is not judged:
                raise fault_from_restart(self._name)
            greeting = connection.greeting
            if channel is not None and channel.log_level and greeting.offers("logging"):
                await self._set_level(link, channel.log_level)
            try:
                result = await self._send(link, method, params, channel, b"", tool=tool)
                if not greeting.meta:
                    return result
                send = partial(self._send, link, method, params, channel, tool=tool)
                hide = link.hidden.book
                return await settle(
                    self._name, channel, self._requests.rate, send, result, hide=hide
                )
            except RpcError as refusal:
                error = self._requests.refused(discreet_error(refusal, link.hidden.book), channel)
                raise fault_from_rpc(self._name, error, link.hidden) from error
        except asyncio.CancelledError:
            await self._requests.called_off(channel)
            raise
        finally:
            connection.release()

    async def _ready_for(self, channel: Channel | None) -> Link:
        """While it starts, it may ask whoever waits for it."""
        with self._requests.audience.waiting(channel):
            return await self._connection.ready(channel.holder if channel is not None else "")

    async def _send(
        self,
        link: Link,
        method: str,
        params: Parts,
        channel: Channel | None,
        more: bytes,
        *,
        tool: str,
        sent: int = 0,
    ) -> Raw:
        peer, audience = link.peer, self._requests.audience
        # The id of the request is its progress token too: one number that tells both apart.
        token = peer.pending.next_id
        said = self._introduction(channel) if self._connection.greeting.meta else b""
        if channel is None:
            tail = b',"_meta":{%b"progressToken":%d}}' % (said, token)
        else:
            tail = b',"_meta":{%b%b"progressToken":%d}}' % (channel.meta, said, token)
        audience.begin(token, channel)
        try:
            result = await peer.request(method, (*params, more, tail))
        except (Interruption, PeerLost) as error:
            failure = error
        except asyncio.CancelledError:
            if channel is not None:
                audience.abandon(token)
                receipt = channel.receipt
                if receipt is not None and receipt.book is not None and receipt.clock.has_rung:
                    # Many a server answers all the same.
                    peer.pending.when_late(token, partial(receipt.book.late, receipt))
            raise
        else:
            audience.answers += 1
            if channel is not None and self._connection.back_offs.callers:
                self._connection.back_offs.answered(channel.holder)
            return result
        finally:
            if channel is not None:
                audience.end(token)
        link = await self._recovered(link, failure, tool, sent)
        return await self._send(link, method, params, channel, more, tool=tool, sent=sent + 1)

    async def _recovered(self, link: Link, error: Exception, tool: str, sent: int) -> Link:
        """The link on which the request may be sent again. Raises a fault where it may not."""
        fault = await self._connection.lost(link, error) if isinstance(error, PeerLost) else error
        if not isinstance(fault, Interruption):
            raise fault from error
        if fault.may_have_run and tool and not await self.is_repeatable(tool):
            raise fault.in_flight(tool) from error
        if sent >= MOST_REPEATS:
            raise fault.given_up() from error
        return await self._connection.recovery.recovered(link, fault)

    def _introduction(self, channel: Channel | None) -> bytes:
        """What a request of the modern era says of us and of the client."""
        meta = self._connection.greeting.meta
        if channel is None:
            return b"%b,%b," % (meta, modern_capabilities(b"{}"))
        said = b"%b,%b," % (meta, modern_capabilities(channel.declared))
        if channel.log_level:
            said += b"%b:%b," % (encode(LOG_LEVEL_KEY), encode(channel.log_level))
        return said

    async def _set_level(self, link: Link, level: str) -> None:
        """The chattiest level that anybody wants; each channel drops what its client does not."""
        if (
            self._connection.greeting.meta
            or level not in LEVELS
            or (self._level and reaches(level, self._level))
        ):
            return
        self._level = level
        self._tasks.start(self._say_level(link, level))
        # It goes out before what waits to be sent, whose log messages it is about.
        await asyncio.sleep(0)

    async def _say_level(self, link: Link, level: str) -> None:
        try:
            await self.ask_plainly(link, "logging/setLevel", b'"level":%b' % encode(level))
        except (RpcError, PeerLost, Fault):
            return

    def notify(self, method: str) -> None:
        """Tell a running child of the handshake era something that its client said."""
        connection = self._connection
        if connection.link is not None and not connection.greeting.meta:
            connection.link.peer.notify(method)

    # For ourselves

    async def ask_plainly(self, link: Link, method: str, members: bytes) -> Raw:
        """Ask in the name of no client."""
        if self._connection.greeting.meta:
            meta = b'"_meta":{%b}' % self._introduction(None).rstrip(b",")
            members = b"%b,%b" % (members, meta) if members else meta
        return await link.peer.request(method, (b"{%b}" % members,))

    async def fetch(self, kind: Kind) -> tuple[Listing, bool]:
        """All that the child offers of a kind, and whether it still runs to stand by it."""
        return await self._connection.recovery.persist(partial(self._fetch, kind))

    async def _fetch(self, kind: Kind) -> tuple[Listing, bool]:
        connection = self._connection
        try:
            async with connection.link_for(f"list its {kind}") as link:
                is_modern = bool(connection.greeting.meta)
                # Every child is asked for its tools: some have them and do not declare it.
                if kind != "tools" and not connection.greeting.offers(FEATURES[kind]):
                    return _NOTHING, connection.link is link
                listing = await fetch_listing(kind, partial(self.ask_plainly, link, METHODS[kind]))
        except MsgspecError as error:
            raise fault_from_malformed_listing(self._name, error) from error
        if kind == "tools" and connection.greeting.gives_orders:
            self._events.emit(ChildTalkedNonsense(child=self._name, what=_ORDERS))
        if isinstance(listing, ToolListing) and is_modern and connection.entry.transport == "http":
            listing = without_invalid_headers(listing)
        if listing.malformed or listing.oversized:
            self._events.emit(
                ChildToolsSkipped(
                    child=self._name, positions=listing.malformed, oversized=listing.oversized
                )
            )
        return listing, connection.link is link
