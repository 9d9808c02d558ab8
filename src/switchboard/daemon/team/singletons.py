"""Servers of which a team has one process: which gateway runs them, and giving way in time.

As with workers: a gateway that cannot say that it lives ends them after 0.6 of the lease, at 0.7 of
it they are ended even where the gateway stands still, and nobody else begins before its end.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from urllib.parse import quote

from switchboard.children.child import Child
from switchboard.children.reaching.back_off import ELSEWHERE
from switchboard.children.sharing.singletons import Forward
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.team.membership import Team
from switchboard.postgres.agreed_lease import FENCE, SILENCE
from switchboard.surface.http.exchange import RELAYED
from switchboard.surface.http.listener import SINGLETONS_PATH
from switchkit.reaper_client import Reaper

# How many looks a lease has room for.
_LOOKS = 24
_GIVEN_UP = (
    "this gateway could not say for too long that it is alive, and another may run it by now"
)
_TAKEN_OVER = "the gateway that ran it is taken for gone"
# What a gateway signs, so that a signature for something else is none for this.
SIGNED = "singleton:"


class TeamSingletons:
    """The `Singletons` of one gateway. Belongs to its loop."""

    def __init__(self, team: Team, runtime: Runtime) -> None:
        self._team = team
        self._runtime = runtime
        self._loop = asyncio.get_running_loop()
        self._tasks = TaskSet()
        self._table = team.singletons()
        # One thread at a time asks it.
        self._turn = asyncio.Lock()
        self.reaper = Reaper()
        self.reaper.silence_s = SILENCE * team.lease_s
        self.reaper.ends_in_silence = True
        self._pulsed_at = time.monotonic()
        # Those that are ours to run, and who runs the others that were asked for.
        self._held: set[str] = set()
        self._holders: dict[str, str] = {}
        # Told of a server that we run, and of the kind of listing that changed.
        self.on_changed: Callable[[str, str], None] = lambda _server, _kind: None

    def open(self) -> None:
        """Run and forward from now on."""
        presence = self._team.presence
        presence.on_beat = lambda: self._from_thread(self._pulse)
        presence.on_gap = lambda: self._from_thread(self._gap)
        self._runtime.engine.pool.singletons = self
        self._tasks.start(self._watch())

    async def aclose(self) -> None:
        """End what runs here. Nobody asks for it any more."""
        await self._tasks.aclose()
        for child in self._children():
            await child.connection.stop("this gateway ends")
        self.reaper.close()
        await asyncio.to_thread(self._table.close)

    def is_held(self, server: str) -> bool:
        """Whether it is ours to run, as far as we know."""
        return server in self._held

    def changed(self, server: str, kind: str) -> None:
        """A server that we run lists something else: those who ask us for it are told."""
        self.on_changed(server, kind)

    def child(self, server: str) -> Child | None:
        """The one that sessions share."""
        return next((each for each in self._children() if each.entry.label == server), None)

    # As `children.sharing.singletons.Singletons`

    async def place(self, server: str, /) -> Forward | None:
        if self._is_silent:
            raise _unavailable(server, "this gateway does not reach the database")
        async with self._turn:
            holder = await asyncio.to_thread(self._table.take, self._key(server))
        if holder.member == self._team.presence.id:
            self._held.add(server)
            self._holders.pop(server, None)
            return None
        self._held.discard(server)
        if not holder.address:
            raise _unavailable(server, "it is run where nobody can reach it")
        self._holders[server] = holder.member
        url = f"{holder.address}{SINGLETONS_PATH}{quote(server, safe='')}"
        return Forward(url, {RELAYED: self._team.vouch(SIGNED + self._team.tag)})

    def _key(self, server: str) -> str:
        return f"{self._runtime.settings.workspace}\n{server}"

    # Giving way

    @property
    def _is_silent(self) -> bool:
        return self._team.presence.silent_s > FENCE * self._team.lease_s

    def _from_thread(self, work: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(work)

    def _pulse(self) -> None:
        before, self._pulsed_at = self._pulsed_at, time.monotonic()
        if self._pulsed_at - before > FENCE * self._team.lease_s:
            self._gap()
        self.reaper.pulse()

    def _gap(self) -> None:
        """Others could take this gateway for gone since it last looked."""
        self._tasks.start(self._give_way())

    async def _give_way(self) -> None:
        held, self._held = self._held, set()
        for child in self._children():
            if child.entry.label in held:
                await child.connection.stop(_GIVEN_UP)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._team.lease_s / _LOOKS)
            if self._held and self._is_silent:
                await self._give_way()
            with contextlib.suppress(Fault):
                await self._look_at_holders()
            for child in self._children():
                if child.connection.is_needed() and not child.is_running:
                    # Who follows a resource does not ask again by itself.
                    self._tasks.start(self._come_back(child))

    async def _come_back(self, child: Child) -> None:
        with contextlib.suppress(Fault):
            await child.connection.ready()
            for uri in child.followed:
                # Another process has another state.
                child.updated_elsewhere(uri)

    async def _look_at_holders(self) -> None:
        """A gateway that stands still answers nothing, and closes nothing."""
        if not self._holders:
            return
        async with self._turn:
            alive = await asyncio.to_thread(self._table.alive, set(self._holders.values()))
        for server, holder in tuple(self._holders.items()):
            if holder not in alive:
                self._holders.pop(server, None)
                for child in self._children():
                    if child.entry.label == server:
                        await child.connection.stop(_TAKEN_OVER)

    def _children(self) -> Iterator[Child]:
        for session_id, child in self._runtime.engine.pool.by_session():
            if not session_id and child.is_single:
                yield child


@asynccontextmanager
async def running_singletons(team: Team, runtime: Runtime) -> AsyncGenerator[TeamSingletons]:
    """Run and forward for as long as the block does."""
    singletons = TeamSingletons(team, runtime)
    singletons.open()
    try:
        yield singletons
    finally:
        await singletons.aclose()


def _unavailable(server: str, why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        ELSEWHERE,
        f"`{server}` cannot be used now: {why}",
        hint="call again in a moment",
    )
