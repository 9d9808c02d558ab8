"""How a stream gets to a client: as JSON when its answer comes soon and alone, else as events.

A connection is not the stream: the client may leave it, and another may take its place.
"""

import asyncio
from collections.abc import Callable

from switchboard.core.loop.tasks import TaskSet
from switchboard.core.loop.timers import Timers
from switchboard.surface.http.exchange import Exchange, HttpReply
from switchboard.surface.http.streams import Stream

# Clients and proxies give up on a response that shows no sign of life.
KEEP_ALIVE_S = 15.0
# A call that takes this long may well outlive its connection.
PRIME_S = 0.5
# After how long a client whose connection broke should come back.
RETRY_MS = 1_000


class Delivery:
    """One connection that carries a stream. `tasks` may outlive it by a moment."""

    def __init__(
        self, exchange: Exchange, stream: Stream, tasks: TaskSet, *, primes: bool = False
    ) -> None:
        self._exchange = exchange
        self._stream = stream
        self._tasks = tasks
        self._primes = primes
        self._has_begun = False
        self._has_left = False
        self._is_late = False
        self._done: Callable[[], None] | None = None

    def begin(self, bells: "Timers[Delivery]", done: Callable[[], None]) -> None:
        """As `run`, but returns at once; `done` is told at the end.

        An answer that comes soon and alone then costs no task and no timer of its own. Only for a
        plain exchange and a stream that is new.
        """
        stream = self._stream
        stream.carrier = self
        stream.on_news = self._hear
        self._done = done
        wait_s = PRIME_S if self._primes else KEEP_ALIVE_S
        self._bells = bells[wait_s]
        self._bells[self] = bells.loop.time() + wait_s
        self._exchange.promise()
        self._exchange.when_left(self._lose)
        if stream.has_ended:
            self._hear()

    def ring(self) -> None:
        """It has taken so long that the client has to be shown a sign of life."""
        self._is_late = True
        self._stream.tell()

    def _hear(self) -> None:
        """There is news, for the first time."""
        stream = self._stream
        stream.on_news = None
        self._bells.pop(self, None)
        if stream.whole is None or not self._is_current:
            stream.news.set()
            self._tasks.start(self._go_on())
        elif stream.has_receipts:
            # That a client has left is seen a turn later.
            asyncio.get_running_loop().call_soon(self._reply)
        else:
            self._reply()

    def _reply(self) -> None:
        stream = self._stream
        assert stream.whole is not None
        if not self._has_left:
            if not self._exchange.replied(stream.whole):
                # It is large, or the client is slow.
                self._tasks.start(self._go_on())
                return
            stream.taken()
        self._end()

    async def _go_on(self) -> None:
        try:
            await self._carry()
        finally:
            self._end()

    def _end(self) -> None:
        if self._stream.carrier is self:
            self._stream.carrier = None
        self._exchange.keep()
        if self._done is not None:
            self._done()

    async def run(self, *, at_once: bool = False) -> None:
        """Carry until the stream is over, the client leaves, or a newer connection takes over.

        With `at_once` the response begins before there is anything to say.
        """
        stream = self._stream
        if stream.carrier is not None or not stream.is_empty:
            # Whoever carried it before must not wait any longer, and neither must what it left.
            stream.carrier = self
            stream.tell()
            stream.news.set()
        stream.carrier = self
        left = None
        if not self._exchange.when_left(self._lose):
            left = self._tasks.start(self._exchange.until_left())
            left.add_done_callback(self._leave)
        try:
            if at_once:
                await self._begin()
            # With the response the watch ends too; to cancel it would cost more than it did.
            await self._carry()
        except BaseException:
            if left is not None:
                left.cancel()
            raise
        finally:
            if stream.carrier is self:
                stream.carrier = None

    async def _carry(self) -> None:
        stream = self._stream
        while self._is_current and not (stream.has_ended and stream.is_empty):
            await self._pass_on()
        if not self._has_left:
            await self._finish()

    @property
    def _is_current(self) -> bool:
        return self._stream.carrier is self and not self._has_left

    def _leave(self, left: "asyncio.Task[None]") -> None:
        if not left.cancelled():
            self._lose()

    def _lose(self) -> None:
        self._has_left = True
        self._stream.tell()

    async def _pass_on(self) -> None:
        """Wait for news; pass on what there is, or show that the stream is alive."""
        stream = self._stream
        # Who can come back to a stream is told its name before the connection can break.
        is_early = self._primes and not self._has_begun
        wait_s = PRIME_S if is_early else KEEP_ALIVE_S
        timer = asyncio.get_running_loop().call_later(wait_s, self.ring)
        try:
            await stream.news.wait()
        finally:
            timer.cancel()
        stream.news.clear()
        if self._is_late:
            self._is_late = False
            if stream.accepts_events and not stream.has_ended and self._is_current:
                await self._begin()
                if not is_early:
                    await self._exchange.keep_alive()
        while self._is_current and not stream.is_empty:
            if not self._has_begun:
                await self._begin()
                continue
            message = stream.take()
            await self._exchange.event(message.parts, stream.id_of(message.number))
            if stream.has_receipts and await self._is_there():
                stream.taken(message.number)

    async def _is_there(self) -> bool:
        """Whether the client has not left, as far as anybody knows: a send to nobody succeeds."""
        await asyncio.sleep(0)
        return not self._has_left

    async def _begin(self) -> None:
        if self._has_begun:
            return
        # From here on the answer is an event too.
        self._has_begun = self._stream.has_begun = True
        await self._exchange.begin_events()
        if self._primes:
            await self._exchange.prime(self._stream.place, RETRY_MS)

    async def _finish(self) -> None:
        stream = self._stream
        if self._has_begun:
            await self._exchange.end()
        elif stream.whole is not None:
            # Afterwards a client that has its answer may have left as well.
            is_there = not stream.has_receipts or await self._is_there()
            await self._exchange.reply(stream.whole)
            if is_there:
                stream.taken()
        elif stream.accepts_events:
            # A cancelled request is not answered; a stream without an event says just that. It has
            # no id either: nobody shall come back for more.
            await self._exchange.begin_events()
            await self._exchange.end()
        else:
            await self._exchange.reply(HttpReply(202))
