"""How a stream gets to a client: as JSON when its answer comes soon and alone, else as events.

A connection is not the stream: the client may leave it, and another may take its place.
"""

import asyncio

from switchboard.core.loop.tasks import TaskSet
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

    async def run(self, *, at_once: bool = False) -> None:
        """Carry until the stream is over, the client leaves, or a newer connection takes over.

        With `at_once` the response begins before there is anything to say.
        """
        stream = self._stream
        if stream.carrier is not None or not stream.is_empty:
            # Whoever carried it before must not wait any longer, and neither must what it left.
            stream.news.set()
        stream.carrier = self
        left = self._tasks.start(self._exchange.until_left())
        left.add_done_callback(self._leave)
        try:
            if at_once:
                await self._begin()
            while self._is_current and not (stream.has_ended and stream.is_empty):
                await self._pass_on()
            if not self._has_left:
                # With the response the watch ends too; to cancel it would cost more than it did.
                await self._finish()
        except BaseException:
            left.cancel()
            raise
        finally:
            if stream.carrier is self:
                stream.carrier = None

    @property
    def _is_current(self) -> bool:
        return self._stream.carrier is self and not self._has_left

    def _leave(self, left: "asyncio.Task[None]") -> None:
        if not left.cancelled():
            self._has_left = True
            self._stream.news.set()

    def _ring(self) -> None:
        self._is_late = True
        self._stream.news.set()

    async def _pass_on(self) -> None:
        """Wait for news; pass on what there is, or show that the stream is alive."""
        stream = self._stream
        # Who can come back to a stream is told its name before the connection can break.
        is_early = self._primes and not self._has_begun
        wait_s = PRIME_S if is_early else KEEP_ALIVE_S
        timer = asyncio.get_running_loop().call_later(wait_s, self._ring)
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
