"""The life of one child: started when needed, stopped when idle, brought back after a crash."""

import asyncio
import typing
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from switchboard.children.back_off import BackOff
from switchboard.children.faults import (
    fault_from_back_off,
    fault_from_end,
    fault_from_loss,
    fault_from_old_protocol,
    fault_from_rpc,
    fault_from_timeout,
)
from switchboard.children.greeting import Greeting, NotModern, greet
from switchboard.children.links import Link
from switchboard.children.schema import Protocol, ServerEntry
from switchboard.core.events import (
    ChildExited,
    ChildFailed,
    ChildStarted,
    ProtectedFilesAppeared,
)
from switchboard.core.faults import Fault
from switchboard.core.ports import Events
from switchboard.core.tasks import TaskSet
from switchboard.wire.messages import RpcError
from switchboard.wire.peer import OnLost, OnNotification, OnRequest
from switchboard.wire.pending import PeerLost
from switchboard.wire.pipes import Loss

# A wait this short is not worth an error.
_SHORT_WAIT_S = 1.0


class Limits(Struct, frozen=True, kw_only=True):
    """How long things may take. `idle_s` of 0 keeps an idle child running."""

    spawn_s: float = 8.0
    rpc_s: float = 60.0
    idle_s: float = 600.0
    # The longest that a call may take while its child reports progress.
    longest_s: float = 3_600.0


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


class Life:
    """Whether a child runs, and how it begins and ends."""

    def __init__(
        self,
        entry: ServerEntry,
        *,
        limits: Limits,
        open_link: OpenLink,
        events: Events,
        on_request: OnRequest,
        on_notification: OnNotification,
        # What the next process is told that its client can do.
        capabilities: Callable[[], Mapping[str, Any]],
        on_started: Callable[[Link, Greeting], None],
        on_crashed: Callable[[], None],
        # Whether somebody counts on it although no request waits.
        is_needed: Callable[[], bool],
    ) -> None:
        self.entry = entry
        self._limits = limits
        self._open_link = open_link
        self._events = events
        self._on_request = on_request
        self._on_notification = on_notification
        self._capabilities = capabilities
        self._on_started = on_started
        self._on_crashed = on_crashed
        self._is_needed = is_needed
        self._loop = asyncio.get_running_loop()
        self._tasks = TaskSet()
        self._mode: Protocol = entry.protocol
        self._starting: asyncio.Task[Link] | None = None
        self._started_at = 0.0
        self._last_used = 0.0
        self._draining: asyncio.Event | None = None
        self._back_off = BackOff(self._loop.time)
        self._ended = False
        self._idle_timer: asyncio.TimerHandle | None = None
        self.link: Link | None = None
        self.in_flight = 0
        self.last_fault: Fault | None = None

    # Being used

    def take(self) -> None:
        """Somebody begins to wait for it. Who waits for its start counts too."""
        self.in_flight += 1

    def release(self) -> None:
        """Somebody waits no longer."""
        self.in_flight -= 1
        self._settle()

    async def lost(self, link: Link, lost: PeerLost) -> Fault:
        """What to tell somebody whose answer will not come."""
        self.last_fault = await fault_from_loss(self.entry.name, link, lost.loss)
        return self.last_fault

    # Starting

    async def ready(self) -> Link:
        """The way to the child; whoever comes first starts it, the rest wait with them."""
        if self.link is not None:
            return self.link
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
        self.link = link
        now = self._started_at = self._last_used = self._loop.time()
        self._events.emit(
            ChildStarted(
                child=self.entry.name,
                pid=link.pid,
                protocol=greeting.protocol,
                duration_s=now - began,
            )
        )
        self._on_started(link, greeting)
        self._watch_idle(self._limits.idle_s)
        return link

    async def _open_and_greet(self, mode: Protocol) -> tuple[Link, Greeting]:
        opened: list[Link] = []
        link = await self._open_link(
            self.entry,
            timeout_s=self._limits.spawn_s,
            on_request=self._on_request,
            on_notification=self._on_notification,
            on_lost=lambda loss: self._on_lost(opened, loss),
        )
        opened.append(link)
        try:
            async with asyncio.timeout(self._limits.rpc_s):
                greeting = await greet(link.peer, mode, self._capabilities())
            # It may have ended behind its last word, before anybody could be told.
            if link.peer.pending.lost is not None:
                raise PeerLost(link.peer.pending.lost)
        except TimeoutError:
            await self._close(link)
            raise fault_from_timeout(
                self.entry.name, "answer", self._limits.rpc_s, "child-start-timeout"
            ) from None
        except RpcError as error:
            await self._close(link)
            raise fault_from_rpc(self.entry.name, error, link.hidden) from error
        except NotModern:
            await self._close(link)
            raise fault_from_old_protocol(self.entry.name) from None
        except PeerLost as lost:
            if mode == "auto" and lost.loss.reason != "too-large":
                # Some servers of the handshake era end when their first message is another one.
                await self._close(link)
                greeted = await self._open_and_greet("handshake")
                self._mode = "handshake"
                return greeted
            fault = await fault_from_loss(self.entry.name, link, lost.loss)
            await self._close(link)
            raise fault from lost
        except BaseException:
            await self._close(link)
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

    # Ending

    def _on_lost(self, opened: list[Link], loss: Loss) -> None:
        link = self.link
        # The end of a link that is not in use is known to whoever gave it up.
        if link is None or link not in opened:
            return
        self.link = None
        self._back_off.fail(lived_s=self._loop.time() - self._started_at)
        self._tasks.start(self._bury(link, loss, expected=False))
        self._on_crashed()

    async def _bury(self, link: Link, loss: Loss, *, expected: bool) -> None:
        await self._close(link)
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

    async def _close(self, link: Link) -> None:
        await link.aclose()
        if names := link.appeared():
            self._events.emit(ProtectedFilesAppeared(source=self.entry.name, names=names))

    def _watch_idle(self, after_s: float) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._limits.idle_s > 0:
            self._idle_timer = self._loop.call_later(after_s, self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        link = self.link
        if link is None:
            return
        rest = self._last_used + self._limits.idle_s - self._loop.time()
        if rest > 0 or self.in_flight or self._is_needed():
            self._watch_idle(max(rest, self._limits.idle_s / 4))
            return
        self.link = None
        self._tasks.start(self._bury(link, Loss(message="idle"), expected=True))

    async def stop(self) -> None:
        """End the process; whoever comes next starts another."""
        link, self.link = self.link, None
        if link is not None:
            await self._bury(link, Loss(message="stopped"), expected=True)

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
        if self._draining is not None and not self.in_flight and self._starting is None:
            self._draining.set()

    @property
    def age_s(self) -> float:
        """How long it has been running."""
        return self._loop.time() - self._started_at if self.link is not None else 0.0

    @property
    def is_over(self) -> bool:
        """Whether it was ended for good."""
        return self._ended

    async def aclose(self) -> None:
        """End it for good."""
        self._ended = True
        link, self.link = self.link, None
        if link is not None:
            await self._bury(link, Loss(message="closed"), expected=True)
        await self._tasks.aclose()
