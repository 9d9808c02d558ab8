"""One child server: started when it is needed, kept, stopped when idle, brought back after a crash.

Its ends and errors become faults here; nobody above sees a process or an error of the protocol.
"""

import asyncio
import typing
from collections.abc import Callable

from msgspec import MsgspecError, Raw, Struct

from switchboard.children.back_off import BackOff
from switchboard.children.faults import (
    fault_from_back_off,
    fault_from_end,
    fault_from_loss,
    fault_from_malformed_listing,
    fault_from_old_protocol,
    fault_from_rpc,
    fault_from_timeout,
)
from switchboard.children.greeting import Greeting, NotModern, greet, modern_meta
from switchboard.children.links import Link
from switchboard.children.listing import Listing, fetch_listing
from switchboard.children.schema import Protocol, ServerEntry
from switchboard.core.events import ChildExited, ChildFailed, ChildStarted, ChildToolsSkipped
from switchboard.core.faults import Fault
from switchboard.core.ports import Events
from switchboard.core.sessions import Era
from switchboard.core.tasks import TaskSet
from switchboard.wire.messages import METHOD_NOT_FOUND, MessageId, Parts, RpcError, encode
from switchboard.wire.peer import Answer, OnLost, OnNotification, OnRequest, PeerLost
from switchboard.wire.pipes import Loss

# A wait this short is not worth an error.
_SHORT_WAIT_S = 1.0


class Limits(Struct, frozen=True, kw_only=True):
    """How long things may take. `idle_s` of 0 keeps an idle child running."""

    spawn_s: float = 8.0
    rpc_s: float = 60.0
    idle_s: float = 600.0


class OpenLink(typing.Protocol):
    """How a child is reached."""

    async def __call__(
        self,
        entry: ServerEntry,
        *,
        timeout_s: float,
        on_request: OnRequest,
        on_notification: OnNotification,
        on_lost: OnLost,
    ) -> Link:
        """Start or connect. Raises a fault."""
        ...


class Child:
    """A server behind Switchboard."""

    def __init__(
        self, entry: ServerEntry, *, limits: Limits, open_link: OpenLink, events: Events
    ) -> None:
        self.entry = entry
        self.limits = limits
        self._open_link = open_link
        self._events = events
        self._loop = asyncio.get_running_loop()
        self._tasks = TaskSet()
        self._mode: Protocol = entry.protocol
        self._link: Link | None = None
        self._starting: asyncio.Task[Link] | None = None
        self._listing: Listing | None = None
        self._fetching: asyncio.Task[Listing] | None = None
        # How often it said that its tools changed.
        self._changes = 0
        self._meta = b""
        self._started_at = 0.0
        self._last_used = 0.0
        self._in_flight = 0
        self.calls = 0
        self._draining: asyncio.Event | None = None
        self._back_off = BackOff(self._loop.time)
        self.last_fault: Fault | None = None
        self._ended = False
        self._idle_timer: asyncio.TimerHandle | None = None
        self.on_tools_changed: Callable[[], None] = lambda: None

    # What it is asked

    async def call(self, name: str, arguments: Raw) -> Raw:
        """The child's result of one of its tools, unopened."""
        head = b'{"name":%b,"arguments":' % encode(name)
        # Who waits for the start counts too, so that a drain does not end the child before them.
        self._in_flight += 1
        self.calls += 1
        try:
            link = self._link or await self._ready()
            try:
                return await link.peer.request("tools/call", (head, arguments, self._meta or b"}"))
            except RpcError as error:
                raise fault_from_rpc(self.entry.name, error, link.hidden) from error
            except PeerLost as lost:
                self.last_fault = await fault_from_loss(self.entry.name, link, lost.loss)
                raise self.last_fault from lost
        finally:
            self._in_flight -= 1
            self._settle()

    async def tools(self) -> Listing:
        """Its tools, asked for once until it says that they changed or is started anew."""
        if self._listing is not None:
            return self._listing
        if self._fetching is None:
            self._fetching = self._tasks.start(self._fetch())
            self._fetching.add_done_callback(self._fetched)
        return await asyncio.shield(self._fetching)

    @property
    def known_tools(self) -> Listing | None:
        """Its tools if they are known without asking."""
        return self._listing

    async def _fetch(self) -> Listing:
        self._in_flight += 1
        try:
            link = self._link or await self._ready()
            changes = self._changes
            listing = await self._list(link)
        finally:
            self._in_flight -= 1
            self._settle()
        if listing.malformed:
            skipped = ChildToolsSkipped(child=self.entry.name, positions=listing.malformed)
            self._events.emit(skipped)
        # News of a change may have come in the same bytes as the answer that it makes stale.
        if self._link is link and self._changes == changes:
            self._listing = listing
        return listing

    async def _list(self, link: Link) -> Listing:
        async def ask(members: bytes) -> Raw:
            tail = self._meta or b"}"
            params = b"{" + members + (tail if members else tail.removeprefix(b","))
            return await link.peer.request("tools/list", (params,))

        try:
            async with asyncio.timeout(self.limits.rpc_s):
                return await fetch_listing(ask)
        except MsgspecError as error:
            raise fault_from_malformed_listing(self.entry.name, error) from error
        except RpcError as error:
            raise fault_from_rpc(self.entry.name, error, link.hidden) from error
        except PeerLost as lost:
            raise await fault_from_loss(self.entry.name, link, lost.loss) from lost
        except TimeoutError:
            raise self._timeout("list its tools", "child-timeout") from None

    def _fetched(self, task: "asyncio.Task[Listing]") -> None:
        self._fetching = None
        if not task.cancelled():
            task.exception()

    # Starting

    async def _ready(self) -> Link:
        """The way to the child; whoever comes first starts it, the rest wait with them."""
        if self._link is not None:
            return self._link
        if self._ended:
            raise fault_from_end(self.entry.name)
        if self._starting is None:
            self._starting = self._tasks.start(self._start())
            self._starting.add_done_callback(self._start_ended)
        return await asyncio.shield(self._starting)

    def _start_ended(self, task: "asyncio.Task[Link]") -> None:
        self._starting = None
        self._settle()
        if not task.cancelled():
            task.exception()

    async def _start(self) -> Link:
        await self._wait_out_back_off()
        began = self._loop.time()
        try:
            link, greeting = await self._open_and_greet(self._mode)
        except Fault as fault:
            if fault.reason != "child-backing-off":
                self._back_off.fail()
                self.last_fault = fault
            self._events.emit(
                ChildFailed(child=self.entry.name, reason=fault.reason, message=fault.message)
            )
            raise
        self._listing = None
        self._meta = b""
        if greeting.era is Era.MODERN:
            self._meta = b"," + modern_meta(greeting.protocol) + b"}"
        self._link = link
        now = self._started_at = self._last_used = self._loop.time()
        self._events.emit(
            ChildStarted(
                child=self.entry.name,
                pid=link.pid,
                protocol=greeting.protocol,
                duration_s=now - began,
            )
        )
        self._follow_changes(link, greeting)
        self._watch_idle(self.limits.idle_s)
        return link

    async def _open_and_greet(self, mode: Protocol) -> tuple[Link, Greeting]:
        opened: list[Link] = []
        link = await self._open_link(
            self.entry,
            timeout_s=self.limits.spawn_s,
            on_request=self._on_request,
            on_notification=self._on_notification,
            on_lost=lambda loss: self._on_lost(opened, loss),
        )
        opened.append(link)
        try:
            async with asyncio.timeout(self.limits.rpc_s):
                greeting = await greet(link.peer, mode)
            # It may have ended behind its last word, before anybody could be told.
            if link.peer.lost is not None:
                raise PeerLost(link.peer.lost)
        except TimeoutError:
            await link.aclose()
            raise self._timeout("answer", "child-start-timeout") from None
        except RpcError as error:
            await link.aclose()
            raise fault_from_rpc(self.entry.name, error, link.hidden) from error
        except NotModern:
            await link.aclose()
            raise fault_from_old_protocol(self.entry.name) from None
        except PeerLost as lost:
            if mode == "auto" and lost.loss.reason != "too-large":
                # Some servers of the handshake era end when their first message is another one.
                await link.aclose()
                greeted = await self._open_and_greet("handshake")
                self._mode = "handshake"
                return greeted
            fault = await fault_from_loss(self.entry.name, link, lost.loss)
            await link.aclose()
            raise fault from lost
        except BaseException:
            await link.aclose()
            raise
        else:
            return link, greeting

    async def _wait_out_back_off(self) -> None:
        wait = self._back_off.wait_s()
        if wait > _SHORT_WAIT_S:
            raise fault_from_back_off(
                self.entry.name, self._back_off.failures, wait, self.last_fault
            )
        if wait > 0:
            await asyncio.sleep(wait)

    # What it tells us

    def _on_request(self, method: str, params: Raw, message_id: MessageId) -> "Parts | Answer":
        del params, message_id
        if method == "ping":
            return (b"{}",)
        raise RpcError(METHOD_NOT_FOUND, f"`{method}` is not offered")

    def _on_notification(self, method: str, params: Raw) -> None:
        del params
        if method == "notifications/tools/list_changed":
            self._changes += 1
            self._listing = None
            self.on_tools_changed()

    def _follow_changes(self, link: Link, greeting: Greeting) -> None:
        """The modern era announces changes only to those who listen."""
        if greeting.era is Era.MODERN and greeting.announces_tools:
            self._tasks.start(self._listen(link))

    async def _listen(self, link: Link) -> None:
        params = (b'{"notifications":{"toolsListChanged":true}', self._meta)
        try:
            await link.peer.request("subscriptions/listen", params)
        except (RpcError, PeerLost, Fault):
            return

    # Ending

    def _on_lost(self, opened: list[Link], loss: Loss) -> None:
        link = self._link
        # The end of a link that is not in use is known to whoever gave it up.
        if link is None or link not in opened:
            return
        self._link = None
        self._back_off.fail(lived_s=self._loop.time() - self._started_at)
        self._tasks.start(self._bury(link, loss, expected=False))

    async def _bury(self, link: Link, loss: Loss, *, expected: bool) -> None:
        await link.aclose()
        ended, private = await link.diagnosis()
        if not expected:
            self.last_fault = await fault_from_loss(self.entry.name, link, loss)
        self._events.emit(
            ChildExited(
                child=self.entry.name,
                pid=link.pid,
                reason=ended if loss.reason == "closed" else loss.message,
                expected=expected,
                stderr_tail="" if expected else private,
            )
        )

    def _watch_idle(self, after_s: float) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self.limits.idle_s > 0:
            self._idle_timer = self._loop.call_later(after_s, self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        link = self._link
        if link is None:
            return
        rest = self._last_used + self.limits.idle_s - self._loop.time()
        if rest > 0 or self._in_flight:
            self._watch_idle(max(rest, self.limits.idle_s / 4))
            return
        self._link = None
        self._tasks.start(self._bury(link, Loss(message="idle"), expected=True))

    async def drain(self) -> None:
        """End it for good as soon as nobody waits for it."""
        self._draining = asyncio.Event()
        self._settle()
        try:
            await self._draining.wait()
        finally:
            await self.aclose()

    def _settle(self) -> None:
        self._last_used = self._loop.time()
        if self._draining is not None and not self._in_flight and self._starting is None:
            self._draining.set()

    @property
    def is_modern(self) -> bool:
        """Whether its results carry what the modern era wants of them."""
        return bool(self._meta)

    @property
    def is_running(self) -> bool:
        """Whether it can be asked without being started first."""
        return self._link is not None

    @property
    def in_flight(self) -> int:
        """How many wait for it."""
        return self._in_flight

    @property
    def age_s(self) -> float:
        """How long it has been running."""
        return self._loop.time() - self._started_at if self._link is not None else 0.0

    @property
    def pid(self) -> int:
        """Its process, or 0 when none runs."""
        return self._link.pid if self._link is not None else 0

    async def aclose(self) -> None:
        """End it for good."""
        self._ended = True
        link, self._link = self._link, None
        if link is not None:
            await self._bury(link, Loss(message="closed"), expected=True)
        await self._tasks.aclose()

    def _timeout(self, doing: str, reason: str) -> Fault:
        return fault_from_timeout(self.entry.name, doing, self.limits.rpc_s, reason)
