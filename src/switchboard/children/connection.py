"""The connection to one child: made when needed, ended when idle, made anew after a crash."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from functools import partial

from switchboard.children.faults import (
    fault_from_end,
    fault_from_loss,
    fault_from_old_protocol,
    fault_from_rpc,
    fault_from_timeout,
)
from switchboard.children.greeting import Greeting, NotModern, client_capabilities
from switchboard.children.inbound.handler import InboundHandler, LastProcess
from switchboard.children.inbound.unreadable_answers import Nonsense
from switchboard.children.link import Link, OpenLink
from switchboard.children.reaching.back_off import ELSEWHERE, SHORT_WAIT_S, BackOffs
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.reaching.interruption import Interruption
from switchboard.children.reaching.recovery import Recovery, reach
from switchboard.children.schema import Protocol, ServerEntry
from switchboard.children.secrets.lookup import LookedUp, hints_for
from switchboard.children.starting.first_words import greet_opened
from switchboard.children.starting.silent_start import StrayLines, fault_from_silence
from switchboard.children.starting.start_stage import StartStage
from switchboard.core.events import (
    ChildExited,
    ChildFailed,
    ChildStarted,
    ProtectedFilesAppeared,
)
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Events
from switchboard.core.sessions import Session
from switchboard.wire.messages import MessageId, RpcError
from switchboard.wire.peer import Peer
from switchboard.wire.pending import PeerLost
from switchboard.wire.pipes import Loss, Pipe

# How long last answers of a link that is given up may hold up the end.
_BURIAL_S = 2.0


class Connection:
    """Whether a child runs, and how that begins and ends."""

    def __init__(
        self,
        entry: ServerEntry,
        inbound: InboundHandler,
        *,
        limits: ChildLimits,
        open_link: OpenLink,
        events: Events,
        # Whether one session alone will ever use it.
        is_own: bool = False,
    ) -> None:
        self.entry = entry
        self.stage = StartStage(entry)
        self.limits = limits
        self._open_link = open_link
        self._events = events
        self._inbound = inbound
        self._processes = LastProcess(inbound)
        self._is_own = is_own
        self._loop = asyncio.get_running_loop()
        self._tasks = TaskSet()
        self._burials = TaskSet()
        self._mode: Protocol = entry.protocol
        self._starting: asyncio.Task[Link] | None = None
        # By the clock of the loop: since when it could be asked.
        self.started_at = 0.0
        self.last_used = 0.0
        self._unused: asyncio.Event | None = None
        self._is_remote = entry.transport != "stdio"
        # To knock at a remote server costs little; it is tried as soon as somebody wants it.
        longest = {"longest_s": SHORT_WAIT_S} if self._is_remote else {}
        self.back_offs = BackOffs(self._loop.time, **longest)
        self._next_id: Callable[[], int] = lambda: 1
        self._was_reached = False
        # Whether the last series of tries to reach it was in vain.
        self._is_down = False
        self.recovery = Recovery(self, self._tasks)
        self._ended = False
        self._idle_timer: asyncio.TimerHandle | None = None
        self.link: Link | None = None
        # What the child said of itself when it was last started.
        self.greeting = Greeting()
        self.in_flight = 0
        self.last_fault: Fault | None = None
        # The session that used it last. A process keeps what it was told when it started.
        self.client: Session | None = None
        # Called before a process is started: what it says then is not said by the last one.
        self.on_starting: Callable[[], None] = lambda: None
        # Called with each new link: nothing that the last process was told holds any more.
        self.on_started: Callable[[Link], None] = lambda _: None
        # Asked when it ends by itself: whom it worked for, and whether it had answered anybody.
        self.workload: Callable[[], tuple[Collection[str], bool]] = lambda: ((), False)
        # Told of the answer to a request of ours that nobody waits for any more.
        self.on_late: Callable[[MessageId], None] = lambda _: None
        # Whether somebody counts on it although no request waits.
        self.is_needed: Callable[[], bool] = lambda: False

    # Being used

    def take(self) -> None:
        """Somebody begins to wait for it. Who waits for its start counts too."""
        self.in_flight += 1

    def release(self) -> None:
        """Somebody waits no longer."""
        self.in_flight -= 1
        self.last_used = self._loop.time()
        if self._unused is not None:
            self._check_unused()

    @asynccontextmanager
    async def link_for(self, doing: str) -> AsyncGenerator[Link]:
        """The link, for something that we want of the child. What goes wrong is a fault."""
        self.take()
        try:
            link = await self.ready()
            try:
                async with asyncio.timeout(self.limits.rpc_s):
                    yield link
            except RpcError as error:
                raise fault_from_rpc(self.entry.name, error, link.hidden) from error
            except PeerLost as lost:
                raise await self.lost(link, lost) from lost
            except TimeoutError:
                raise fault_from_timeout(
                    self.entry.name, doing, self.limits.rpc_s, "child-timeout"
                ) from None
        finally:
            self.release()

    async def lost(self, link: Link, lost: PeerLost) -> Fault:
        """What to tell somebody whose answer will not come."""
        fault = await fault_from_loss(self.entry, link, lost.loss)
        if self._is_remote and lost.loss.reason != "too-large":
            fault = Interruption(
                "remote-interrupted",
                fault.message,
                may_have_run=lost.was_sent,
                private=fault.private,
            )
        self.last_fault = fault
        return fault

    def give_up(self, link: Link, fault: Fault) -> None:
        """Nobody answers at the other end of the link, for all our patience."""
        self._is_down = True
        self.last_fault = fault
        link.peer.lose(Loss(reason="broken", message=fault.message))

    # Starting

    @property
    def ready_link(self) -> Link | None:
        """The link, where nothing has to be looked at before it is used."""
        link = self.link
        return link if not self.back_offs.callers and link and link.secrets is None else None

    async def ready(self, caller: str = "") -> Link:
        """The link to the child; whoever comes first starts it, the rest wait with them.

        A session whose calls keep ending it waits, also where another has started it since.
        """
        if self.link is None or self.back_offs.callers:
            await self.back_offs.wait_out(caller, self.entry.name, self.last_fault)
        while (link := self.link) is not None:
            if link.secrets is None or not await self._is_outdated(link, link.secrets):
                return link
        if self._ended:
            raise fault_from_end(self.entry.name)
        if self._starting is None:
            self._starting = self._tasks.start(self._start())
            self._starting.add_done_callback(self._start_ended)
        return await asyncio.shield(self._starting)

    async def _is_outdated(self, link: Link, secrets: LookedUp) -> bool:
        """Whether it was started with a secret that has changed since, and has been given up."""
        if not await secrets.are_outdated():
            return False
        if self.link is link:
            if self.in_flight > 1:
                # Others wait for its answers. Whoever comes when it is quiet has it started anew.
                return False
            self.link = None
            self._tasks.start(self._bury(link, Loss(message="a secret was changed"), expected=True))
        return True

    def _start_ended(self, task: "asyncio.Task[Link]") -> None:
        self._starting = None
        self.stage.over()
        self.last_used = self._loop.time()
        self._check_unused()
        # Nobody may be left who waits for it.
        if not task.cancelled():
            task.exception()

    async def _start(self) -> Link:
        self.on_starting()
        began = self._loop.time()
        try:
            link, greeting = await self._open_with_patience()
        except Fault as fault:
            # After a login the same call works at once.
            if fault.code is not FaultCode.UNAUTHENTICATED and fault.reason != ELSEWHERE:
                self.back_offs.start_failed()
            self.last_fault = fault
            self._is_down = True
            self._events.emit(
                ChildFailed(child=self.entry.label, reason=fault.reason, message=fault.message)
            )
            raise
        self.link, self.greeting, self._was_reached = link, greeting, True
        if self._is_down:  # Whatever kept it from being reached is over.
            self._is_down, self.last_fault = False, None
        now = self.started_at = self.last_used = self._loop.time()
        self._events.emit(
            ChildStarted(
                child=self.entry.label,
                pid=link.pid,
                protocol=greeting.protocol,
                duration_s=now - began,
            )
        )
        self.on_started(link)
        self._watch_idle(self.limits.idle_s)
        return link

    async def _open_with_patience(self) -> tuple[Link, Greeting]:
        if self._is_remote and not self._is_down:
            return await reach(
                lambda: self._open_and_greet(self._mode), was_reached=self._was_reached
            )
        try:
            return await self._open_and_greet(self._mode)
        except Interruption as interruption:
            raise interruption.given_up() from interruption

    async def _open_and_greet(self, mode: Protocol) -> tuple[Link, Greeting]:
        self.stage.open()
        with hints_for(self.client):
            link = await self._open_link(self.entry, self._make_peer, timeout_s=self.limits.spawn_s)
        self.stage.greet()
        try:
            ours = client_capabilities(self.client, self.entry.scope, is_own=self._is_own)
            mode = getattr(link, "protocol", mode)
            greeting = await greet_opened(link, mode, ours, within_s=self.limits.rpc_s)
        except TimeoutError:
            mute = await fault_from_silence(self.entry, link, self._stray, self.limits.rpc_s)
            await self._close(link)
            raise mute from None
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
            fault = await self.lost(link, lost)
            await self._close(link)
            raise fault from lost
        except BaseException:
            await self._close(link)
            raise
        else:
            return link, greeting

    def _make_peer(self, pipe: Pipe) -> Peer:
        stray = self._stray = StrayLines()
        inbound = self._inbound if self._is_remote else self._processes.next()
        nonsense = Nonsense(self.entry, self._events, self._is_ready, self.on_late)
        peer: Peer = Peer(
            pipe,
            on_request=inbound.request,
            on_notification=inbound.notification,
            on_lost=lambda loss: self._on_lost(peer, loss),
            on_junk=lambda message: nonsense.junk(peer, message, stray.note),
        )
        peer.pending.on_late = partial(nonsense.late, peer)
        if self._is_remote:
            # The last link may still bring answers, which no id of the next may be mistaken for.
            peer.pending.next_id = self._next_id()
            self._next_id = lambda: peer.pending.next_id
        return peer

    def _is_ready(self, peer: Peer) -> bool:
        return self.link is not None and self.link.peer is peer

    # Ending

    def _on_lost(self, peer: Peer, loss: Loss) -> None:
        # The end of a link that is not in use is known to whoever gave it up.
        if (link := self.link) is None or link.peer is not peer:
            return
        self.link = None
        self.back_offs.ended(*self.workload(), lived_s=self._loop.time() - self.started_at)
        self._burials.start(self._bury(link, loss, expected=False))
        if self.is_needed() and not self._ended:
            # Who follows a resource does not ask again by itself.
            self._tasks.start(self._come_back())

    async def _come_back(self) -> None:
        with suppress(Fault):
            await self.ready()

    async def _bury(self, link: Link, loss: Loss, *, expected: bool) -> None:
        await self._close(link)
        ended, private = await link.diagnosis()
        if not expected:
            self.last_fault = await fault_from_loss(self.entry, link, loss)
        self._events.emit(
            ChildExited(
                child=self.entry.label,
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
        if self.limits.idle_s > 0:
            self._idle_timer = self._loop.call_later(after_s, self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        link = self.link
        if link is None:
            return
        rest = self.last_used + self.limits.idle_s - self._loop.time()
        if rest > 0 or self.in_flight or self.is_needed():
            self._watch_idle(max(rest, self.limits.idle_s / 4))
            return
        self.link = None
        self._burials.start(self._bury(link, Loss(message="idle"), expected=True))

    async def stop(self, why: str) -> None:
        """End the process; whoever comes next starts another, whoever waits is told why."""
        link, self.link = self.link, None
        if link is not None:
            link.peer.lose(Loss(reason="stopped", message=why))
            await self._bury(link, Loss(message="stopped"), expected=True)

    async def wait_until_unused(self) -> None:
        """Wait until nobody waits for it, and no start is under way."""
        self._unused = asyncio.Event()
        self._check_unused()
        await self._unused.wait()

    def _check_unused(self) -> None:
        if self._unused is not None and not self.in_flight and self._starting is None:
            self._unused.set()

    async def is_connected(self) -> bool:
        """Whether it can be asked now, as far as that can be known."""
        return await self.recovery.is_connected() if self._is_remote else self.link is not None

    @property
    def age_s(self) -> float:
        """How long it has been running."""
        return self._loop.time() - self.started_at if self.link is not None else 0.0

    @property
    def pid(self) -> int:
        """The child's process, or 0 when none of ours runs."""
        return self.link.pid if self.link is not None else 0

    async def aclose(self) -> None:
        """End it for good."""
        self._ended = True
        if self._idle_timer is not None:
            # It would hold us, and whatever we hold, until it rings.
            self._idle_timer.cancel()
        link, self.link = self.link, None
        if link is not None:
            await self._bury(link, Loss(message="closed"), expected=True)
        # One that is cancelled before its first step would leave open what it should close.
        with suppress(TimeoutError):
            async with asyncio.timeout(_BURIAL_S):
                await self._burials.wait()
        await self._tasks.aclose()
