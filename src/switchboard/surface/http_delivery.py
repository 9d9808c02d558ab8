"""How an answer gets to a client over HTTP: as JSON when it comes soon and alone, else as events.

Whoever closes the connection before the answer has cancelled the request: there is no other
connection on which it could be delivered.
"""

import asyncio
from collections import deque

from msgspec import Raw

from switchboard.core.tasks import TaskSet
from switchboard.surface.http_exchange import Exchange, Reply
from switchboard.wire.messages import METHOD_NOT_FOUND, Parts, RpcError, notification_parts

# Clients and proxies give up on a response that shows no sign of life.
KEEP_ALIVE_S = 15.0
_MOST_WAITING = 256


class Delivery:
    """One response, and the notifications that belong to it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._news = asyncio.Event()
        self._waiting: deque[Parts] = deque(maxlen=_MOST_WAITING)
        self._streaming = False
        self._ended = False

    def notify(self, method: str, params: Parts, /) -> None:
        """Send a notification on this response."""
        self._waiting.append(notification_parts(method, params))
        self._news.set()

    async def request(self, method: str, params: Parts, /) -> Raw:
        raise RpcError(METHOD_NOT_FOUND, f"`{method}` cannot be asked on this response")

    def end(self) -> None:
        """End a stream that no answer ends."""
        self._ended = True
        self._news.set()

    async def answer(self, work: "asyncio.Task[Reply]") -> None:
        """Deliver what the work comes to. The work ends when the client leaves."""
        async with TaskSet() as tasks:
            work.add_done_callback(self._wake)
            left = tasks.start(self._exchange.until_left())
            left.add_done_callback(self._wake)
            try:
                while not work.done() and not left.done():
                    await self._pass_on()
                if not left.done():
                    await self._finish(None if work.cancelled() else work.result())
            finally:
                work.cancel()

    async def follow(self) -> None:
        """Deliver notifications until the client leaves or `end` is called."""
        await self._stream()
        async with TaskSet() as tasks:
            left = tasks.start(self._exchange.until_left())
            left.add_done_callback(self._wake)
            while not self._ended and not left.done():
                await self._pass_on()
        await self._exchange.end()

    def _wake(self, _: object) -> None:
        self._news.set()

    async def _pass_on(self) -> None:
        """Wait for news; pass on what there is, or show that the stream is alive."""
        try:
            async with asyncio.timeout(KEEP_ALIVE_S):
                await self._news.wait()
        except TimeoutError:
            if self._exchange.accepts_events:
                await self._stream()
                await self._exchange.keep_alive()
            return
        self._news.clear()
        await self._send_waiting()

    async def _send_waiting(self) -> None:
        while self._waiting and self._exchange.accepts_events:
            await self._stream()
            await self._exchange.event(self._waiting.popleft())

    async def _stream(self) -> None:
        if not self._streaming:
            self._streaming = True
            await self._exchange.begin_events()

    async def _finish(self, reply: Reply | None) -> None:
        await self._send_waiting()
        if reply is not None and not self._streaming:
            await self._exchange.reply(reply)
        elif reply is not None:
            await self._exchange.event(reply.parts)
            await self._exchange.end()
        elif self._exchange.accepts_events:
            # A cancelled request is not answered; a stream without an event says just that.
            await self._stream()
            await self._exchange.end()
        else:
            await self._exchange.reply(Reply(202))
