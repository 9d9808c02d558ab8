"""One connection of the HTTP server, and how long and how many may wait without a request.

Whoever connects holds a file of ours before it has shown a token. So a head must be whole within
seconds, a body must go on coming, and where there are too many the one that has waited longest
for its own head makes room.
"""

import asyncio
import ssl
from contextlib import suppress
from typing import Any, Protocol, cast

import h11
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from switchboard.surface.http.exchange import CONNECTION
from switchboard.surface.http.plain.cycle import PlainCycle
from switchboard.surface.http.plain.head import CYCLE, PlainHead, read_head

# In these an answer can still begin.
_MAY_ANSWER = (h11.IDLE, h11.SEND_RESPONSE)


class Bounds(Struct, frozen=True, kw_only=True):
    """What a client may take up before, and while, it says what it wants."""

    head_s: float = 10.0
    # Without a byte of the body.
    body_s: float = 30.0
    connections: int = 1024


class SilentConnection(Protocol):
    """Somebody who is connected and has not said what they want."""

    def give_up(self) -> None:
        """Close it: it takes too long, or others need the room."""
        ...


class UnfinishedHeads:
    """The connections of a server whose next head is not whole, the oldest first."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        # Connections that are not encrypted yet, which nobody else counts.
        self.unencrypted = 0
        self._connections: dict[SilentConnection, None] = {}

    def add(self, connection: SilentConnection) -> None:
        self._connections[connection] = None

    def discard(self, connection: SilentConnection) -> None:
        self._connections.pop(connection, None)

    def make_room(self, others: int) -> None:
        """Close the one that has waited longest, if there are too many beside these.

        It is the one that has just come, if no other waits.
        """
        if others + self.unencrypted > self.bounds.connections and self._connections:
            next(iter(self._connections)).give_up()


class HttpConnection(H11Protocol):
    """uvicorn's connection, with an end to waiting, and a shorter way for plain requests.

    Between two requests the next one may take either way: a plain one leaves no trace in h11.
    """

    def __init__(self, *, heads: UnfinishedHeads, **given: Any) -> None:
        super().__init__(**given)
        # One for all of its requests, and for no other connection.
        known: dict[str, bool] = {}
        self.app_state = {**given["app_state"], CONNECTION: known}
        self._heads = heads
        self._bounds = heads.bounds
        self._limit: asyncio.TimerHandle | None = None
        self._is_in_head = False
        # The plain request under way, what its body still lacks, and what came after it.
        self._plain: PlainCycle | None = None
        self._last_head: PlainHead | None = None
        self._missing = 0
        self._after = b""
        self._idle_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - uvicorn's own
        super().connection_made(transport)
        self._begin_head()
        self._heads.make_room(len(self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        if self._plain is not None:
            self._plain.lost()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._plain is not None:
            self._hear(data)
            return
        conn = self.conn
        is_between = conn.their_state is h11.IDLE and not conn.trailing_data[0]
        if is_between and (head := read_head(data, self._last_head)) is not None:
            self._last_head = head
            self._begin(head, data[head.size :])
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            if self._is_answered:
                # What is left of the body gets the time that it has, however it comes.
                return
            self._rest()
            self._limit = self.loop.call_later(self._bounds.body_s, self._stalled)
        elif state is not h11.IDLE or not self.conn.trailing_data[0]:
            # A whole request, or nothing yet of the next: idle ones have a limit of their own.
            self._rest()
        elif not self._is_in_head:
            self._begin_head()

    # Plain requests

    def _begin(self, head: PlainHead, data: bytes) -> None:
        """A plain request is under way from here on; this is what there is of its body."""
        if self._limit is not None:
            self._rest()
        cycle = PlainCycle(self, head, self.logger)
        scope: dict[str, Any] = {
            "type": "http",
            "method": head.method,
            "path": head.path,
            "scheme": self.scheme,
            "server": self.server,
            "client": self.client,
            "state": self.app_state,
            CYCLE: cycle,
        }
        self.cycle = self._plain = cycle
        self._missing = head.length
        self._hear(data)
        task = self.loop.create_task(cycle.run(cast("Any", self).app, scope))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _hear(self, data: bytes) -> None:
        """More of the body of the plain request that is under way, or what comes after it."""
        cycle = self._plain
        assert cycle is not None
        if self._missing:
            piece = data[: self._missing]
            self._missing -= len(piece)
            data = data[len(piece) :]
            if not (cycle.response_complete and self._missing):
                if self._limit is not None:
                    self._rest()
                if self._missing:
                    self._limit = self.loop.call_later(self._bounds.body_s, self._stalled)
            if not cycle.response_complete and piece:
                cycle.feed(piece, more=self._missing > 0)
        if data:
            # It waits its turn, and with it all that is behind it.
            self._after += data
            self.flow.pause_reading()
        if cycle.response_complete and not self._missing:
            self._go_on()

    def answered(self) -> None:
        """The response to the plain request is whole."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        self.flow.resume_reading()
        if self._missing:
            self._begin_end()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """The next request may begin."""
        self._plain = None
        after, self._after = self._after, b""
        if after:
            self.data_received(after)

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()
        if self._is_answered and not self.transport.is_closing():
            self._begin_end()

    @property
    def _is_answered(self) -> bool:
        """Whether the request that h11 reads has its answer, and has not all been sent."""
        return self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE

    def _begin_end(self) -> None:
        """The rest of a body that nobody reads may come, for as long as a head may take."""
        self._rest()
        self._limit = self.loop.call_later(self._bounds.head_s, self.give_up)

    def timeout_keep_alive_handler(self) -> None:
        # Set once and not with each request: so it may come while there is one, or too early.
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if self._plain is None and left <= 0:
            super().timeout_keep_alive_handler()
            return
        self.timeout_keep_alive_task = self.loop.call_later(
            max(left, 1.0), self.timeout_keep_alive_handler
        )

    def send_400_response(self, msg: str) -> None:
        # What comes after an answer, or in the middle of one, is answered by nothing.
        if self.conn.our_state in _MAY_ANSWER:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def give_up(self) -> None:
        """Close it: it takes too long, or others need the room."""
        self._rest()
        self.transport.abort()

    def _begin_head(self) -> None:
        # From its first byte on: a head that comes byte by byte gets no more time.
        self._rest()
        self._is_in_head = True
        self._heads.add(self)
        self._limit = self.loop.call_later(self._bounds.head_s, self.give_up)

    def _stalled(self) -> None:
        if self.flow.read_paused:
            # We are the ones who do not read.
            self._limit = self.loop.call_later(self._bounds.body_s, self._stalled)
        else:
            self.give_up()

    def _rest(self) -> None:
        self._is_in_head = False
        self._heads.discard(self)
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


class TlsConnection(asyncio.Protocol):
    """A connection before it is encrypted: it counts, and has to get there within seconds.

    The loop's own way to TLS holds a file for whoever says nothing, and tells nobody.
    """

    def __init__(self, *, heads: UnfinishedHeads, context: ssl.SSLContext, **given: Any) -> None:
        self._heads = heads
        self._context = context
        self._inner = _Held(HttpConnection(heads=heads, **given))
        self._transport: asyncio.Transport | None = None
        self._shaking: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self._transport = transport
        self._heads.unencrypted += 1
        self._heads.add(self)
        self._shaking = asyncio.get_running_loop().create_task(self._shake_hands(transport))
        self._heads.make_room(len(self._inner.whole.connections))

    def give_up(self) -> None:
        self._heads.discard(self)
        if self._transport is not None:
            self._transport.abort()

    async def _shake_hands(self, transport: asyncio.Transport) -> None:
        # Whoever cannot, or is too slow, or is not ours to serve any more, is gone.
        with suppress(OSError, asyncio.CancelledError):
            try:
                encrypted = await asyncio.get_running_loop().start_tls(
                    transport,
                    self._inner,
                    self._context,
                    server_side=True,
                    ssl_handshake_timeout=self._heads.bounds.head_s,
                )
            finally:
                self._heads.unencrypted -= 1
                self._heads.discard(self)
            if encrypted is not None:
                self._inner.open(encrypted)
                return
        transport.abort()


class _Held(asyncio.Protocol):
    """What is said as soon as it is encrypted, for a connection that is told of that only then."""

    def __init__(self, whole: HttpConnection) -> None:
        self.whole = whole
        self._early = b""
        self._is_lost = False

    def open(self, transport: asyncio.Transport) -> None:
        if self._is_lost:
            transport.abort()
            return
        transport.set_protocol(self.whole)
        self.whole.connection_made(transport)
        if self._early:
            self.whole.data_received(self._early)

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._is_lost = True
