"""The way back to a server that went away for a moment: one series of tries for all who wait."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from switchboard.children.greeting import Greeting, knock
from switchboard.children.link import Link
from switchboard.children.reaching.interruption import Interruption
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.wire.messages import RpcError
from switchboard.wire.pending import PeerLost

# Before each try: a server that is started anew, or a network that comes back, takes this long.
_PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
# One that was never reached is more likely to be a wrong address.
_FIRST_PAUSES_S = _PAUSES_S[:4]
# Tries can be slow too, as those of a connection that nobody accepts.
_LONGEST_S = 8.0
_KNOCK_PATIENCE_S = 3.0
# How long it may take to show that it is there, for somebody who only wants to know, and for how
# long its last answer shows that too.
_SIGN_PATIENCE_S = 1.0
_SIGN_LASTS_S = 5.0
# How often one request is sent again.
MOST_REPEATS = 3

T = TypeVar("T")


async def reach(connect: Callable[[], Awaitable[T]], *, was_reached: bool) -> T:
    """Connect, with some patience. Raises the last fault."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _LONGEST_S
    for pause_s in _PAUSES_S if was_reached else _FIRST_PAUSES_S:
        try:
            return await connect()
        except Interruption as interruption:
            if loop.time() >= until:
                raise interruption.given_up() from interruption
            await asyncio.sleep(max(pause_s, interruption.wait_s))
    try:
        return await connect()
    except Interruption as interruption:
        raise interruption.given_up() from interruption


class Recoverable(Protocol):
    """A connection, as far as its recovery is concerned."""

    @property
    def link(self) -> Link | None:
        """What leads there."""
        ...

    @property
    def greeting(self) -> Greeting:
        """What the server said of itself."""
        ...

    @property
    def in_flight(self) -> int:
        """How many wait for it."""
        ...

    async def ready(self) -> Link:
        """The link, made anew if need be. Raises a fault."""
        ...

    def give_up(self, link: Link, fault: Fault) -> None:
        """Let go of the link: nobody is there."""
        ...


class Recovery:
    """Sees to it that a remote server is there again, once for all who wait for it."""

    def __init__(self, connection: Recoverable, tasks: TaskSet) -> None:
        self._connection = connection
        self._tasks = tasks
        self._under_way: asyncio.Task[None] | None = None

    async def persist(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do what may be done twice, and again after interruptions. Raises a fault."""
        for _ in range(MOST_REPEATS):
            link = self._connection.link
            try:
                return await work()
            except Interruption as interruption:
                await self.recovered(link, interruption)
        try:
            return await work()
        except Interruption as interruption:
            raise interruption.given_up() from interruption

    async def recovered(self, failed: Link | None, interruption: Interruption) -> Link:
        """The link, or another one, once the server is there again. Raises a fault."""
        if failed is not None and failed is self._connection.link:
            if self._under_way is None:
                self._under_way = self._tasks.start(self._recover(failed, interruption))
                self._under_way.add_done_callback(self._ended)
            await asyncio.shield(self._under_way)
        return await self._connection.ready()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._under_way = None
        # Nobody may be left who waits for it.
        if not task.cancelled():
            task.exception()

    async def _recover(self, link: Link, interruption: Interruption) -> None:
        """Knock until there is any answer."""
        until = asyncio.get_running_loop().time() + _LONGEST_S
        for pause_s in _PAUSES_S:
            await asyncio.sleep(max(pause_s, interruption.wait_s))
            try:
                async with asyncio.timeout(_KNOCK_PATIENCE_S):
                    await knock(link.peer, self._connection.greeting)
            except Interruption as again:
                interruption = again
            except (RpcError, PeerLost, Fault):
                # It answered, if only that we have to begin anew; the request will hear it too.
                return
            except TimeoutError:
                pass
            else:
                return
            if self._connection.link is not link:
                # It is there again, and has forgotten our session.
                return
            if asyncio.get_running_loop().time() >= until:
                break
        fault = interruption.given_up()
        self._connection.give_up(link, fault)
        raise fault

    async def is_connected(self) -> bool:
        """Whether it can be asked now. A remote server that was silent is asked for a sign."""
        link = self._connection.link
        if link is None or self._under_way is not None:
            return False
        is_heard = asyncio.get_running_loop().time() - link.answered_at < _SIGN_LASTS_S
        # One that works for somebody may be too busy to answer at once.
        if not link.trouble and (is_heard or self._connection.in_flight):
            return True
        try:
            async with asyncio.timeout(_SIGN_PATIENCE_S):
                await knock(link.peer, self._connection.greeting)
        except RpcError:
            pass
        except (Fault, PeerLost, TimeoutError):
            return False
        return self._connection.link is link
