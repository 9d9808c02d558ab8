"""Sessions of the handshake era: one client each, found by an id that nobody can guess.

A client whose connection breaks can take its streams up again where it lost them. That is what the
protocol wants of 2025-11-25 and later; what came before treats a closed connection as the end.
"""

import asyncio
import itertools
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Raw

from switchboard.core.calls.receipts import Receipt
from switchboard.core.events import SessionClosed, SessionOpened
from switchboard.core.loop.tasks import TaskSet, close_all
from switchboard.core.loop.timers import Timers
from switchboard.core.people import Person, key_of, name_in_logs
from switchboard.core.ports import Events
from switchboard.surface.endpoint import Endpoint
from switchboard.surface.http.delivery import Delivery
from switchboard.surface.http.exchange import Exchange, HttpReply, Refusal, trace_of
from switchboard.surface.http.streams import Stream
from switchboard.surface.sink import Sink
from switchboard.wire.messages import METHOD_NOT_FOUND, MessageId, Parts, RpcError
from switchboard.wire.pending import Pending
from switchboard.wire.pipes import Loss

IDLE_S = 30 * 60.0
MOST_SESSIONS = 4_000
# How long a stream waits for its client to come back. Then nothing is done for nobody any more.
RESUME_S = 30.0
# How much one session may leave behind for a client that is not there.
MOST_LEFT = 16
MOST_LEFT_BYTES = 16 * 1024 * 1024
MOST_QUESTIONS = 256

_ID_BYTES = 32
_MOST_WAITING = 256
_LONGEST_NUMBER = 18
_RESUMED_SINCE = "2025-11-25"

MakeEndpoint = Callable[[Sink], Endpoint]


class HttpSession:
    """One client: its endpoint, its requests under way, the streams on which it is told things."""

    def __init__(self, make_endpoint: MakeEndpoint, prefix: str = "") -> None:
        self.id = prefix + secrets.token_urlsafe(_ID_BYTES)
        self.endpoint = make_endpoint(self)
        # With the stream of one that has a response of its own.
        self.under_way: dict[MessageId, tuple[asyncio.Task[HttpReply], Stream | None]] = {}
        # Answers go out on streams of their own.
        self.held: dict[MessageId, Receipt] = {}
        self.tasks = TaskSet()
        self.questions = Pending(most=MOST_QUESTIONS)
        self.last_used = asyncio.get_running_loop().time()
        self._keys = itertools.count()
        # What we had to say while nobody listened waits in it.
        self._own = Stream(
            self._next_key(),
            accepts_events=True,
            questions=self.questions,
            has_ids=True,
            most_waiting=_MOST_WAITING,
        )
        # The streams of requests, oldest first, and the ends of those that nobody reads.
        self._streams: dict[str, Stream] = {}
        self._ends: dict[str, asyncio.TimerHandle] = {}
        # Of answers that take long.
        self._bells = Timers(asyncio.get_running_loop(), Delivery.ring)
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """Whether the client is there, waiting or listening."""
        return bool(self.under_way) or self._own.carrier is not None

    @property
    def _resumes(self) -> bool:
        return self.endpoint.session.protocol >= _RESUMED_SINCE

    def touch(self) -> None:
        """The client was heard of."""
        self.last_used = asyncio.get_running_loop().time()

    # The sink

    def notify(self, method: str, params: Parts, /) -> None:
        # While nobody listens it is enough to say a thing once.
        if self._own.carrier is not None or not self._own.says(method, params):
            self._own.notify(method, params)

    @property
    def is_pressed(self) -> bool:
        return self._own.is_pressed

    async def relieved(self) -> None:
        await self._own.relieved()

    def when_answered(self, message_id: MessageId, tell: Callable[[], None], /) -> None:
        """Answers go out on streams of their own, which know better."""
        del message_id
        self.when_told(tell)

    def when_told(self, tell: Callable[[], None], /) -> None:
        self._own.when_told(tell)

    async def request(self, method: str, params: Parts, /) -> Raw:
        if self._open_stream() is None:
            message = f"`{method}` cannot be asked: the client has no stream open"
            raise RpcError(METHOD_NOT_FOUND, message)
        return await self.questions.ask(self._say, method, params)

    def _say(self, parts: Parts) -> None:
        (self._open_stream() or self._own).say(parts)

    def _open_stream(self) -> Stream | None:
        """Where the client reads now: its own stream, else the newest response under way."""
        if self._own.carrier is not None:
            return self._own
        for stream in reversed(self._streams.values()):
            if stream.carrier is not None and stream.accepts_events and not stream.has_ended:
                return stream
        return None

    # Streams

    def stream_for(self, exchange: Exchange) -> Stream:
        """The sink of a request that came with this exchange."""
        return Stream(
            self._next_key(),
            accepts_events=exchange.accepts_events,
            questions=self.questions,
            has_ids=self._resumes,
            trace=trace_of(exchange),
        )

    async def answer(
        self, exchange: Exchange, stream: Stream, work: "asyncio.Task[HttpReply]"
    ) -> None:
        """Deliver what the work comes to, here or, of a plain request, later.

        Whoever started it says `answered` at its end.
        """
        stream.follow(work)
        self._streams[stream.key] = stream
        delivery = Delivery(exchange, stream, self.tasks, primes=stream.has_ids)
        if exchange.is_plain:
            delivery.begin(self._bells, partial(self._leave, stream))
            return
        try:
            await delivery.run()
        finally:
            self._leave(stream)

    def answered(self, stream: Stream, work: "asyncio.Task[HttpReply]") -> None:
        """The work has ended."""
        stream.answer(work)
        self._make_room()

    async def listen(self, exchange: Exchange) -> None:
        """Be the client's one stream until it leaves. A newer one takes the place of an older."""
        try:
            await Delivery(exchange, self._own, self.tasks, primes=self._resumes).run(at_once=True)
        finally:
            self.touch()

    async def resume(self, exchange: Exchange, event_id: str) -> None:
        """Go on with the stream of which this event was the last that the client got."""
        key, _, number = event_id.rpartition("-")
        stream = self._own if key == self._own.key else self._streams.get(key)
        if stream is None or not number.isdecimal() or len(number) > _LONGEST_NUMBER:
            raise Refusal(400, "what came after this event is not kept any more")
        if end := self._ends.pop(key, None):
            end.cancel()
        stream.rewind(int(number))
        try:
            await Delivery(exchange, stream, self.tasks).run(at_once=True)
        finally:
            self.touch()
            if stream is not self._own:
                self._leave(stream)

    def _next_key(self) -> str:
        return f"{next(self._keys):x}"

    def _leave(self, stream: Stream) -> None:
        """A connection is gone. The stream stays for a while if the client can come back to it."""
        if stream.carrier is not None:
            return
        if self._is_closed or not _is_worth_keeping(stream):
            self._forget(stream)
            return
        loop = asyncio.get_running_loop()
        self._ends[stream.key] = loop.call_later(RESUME_S, self._forget, stream)
        self._make_room()

    def _make_room(self) -> None:
        """Bound what waits for a client to come back; the answer that came last is kept."""
        if not self._ends:
            return
        left = [self._streams[key] for key in self._ends if self._streams[key].has_ended]
        count, held = len(left), sum(stream.held_bytes for stream in left)
        for stream in left[:-1]:
            if count <= MOST_LEFT and held <= MOST_LEFT_BYTES:
                return
            count, held = count - 1, held - stream.held_bytes
            self._forget(stream)

    def _forget(self, stream: Stream) -> None:
        if end := self._ends.pop(stream.key, None):
            end.cancel()
        self._streams.pop(stream.key, None)
        stream.abandon()

    async def aclose(self) -> None:
        """End every stream and what is under way."""
        self.endpoint.close()
        self._is_closed = True
        self.questions.lose(Loss(message="the client's session has ended"))
        self._own.end()
        for stream in tuple(self._streams.values()):
            if stream.key in self._ends:
                self._forget(stream)
        await self.tasks.aclose()


def _is_worth_keeping(stream: Stream) -> bool:
    """Whether the client knows an id to come back with, and something may have got lost."""
    if not (stream.has_ids and stream.has_begun):
        return False
    # What was sent into a connection may be lost in it: that it broke is seen later only.
    return stream.is_answered or not (stream.has_ended and stream.is_empty)


def _whose(session: HttpSession) -> str:
    return key_of(session.endpoint.session.person)


class HttpSessions:
    """Every session by its id. One that nobody uses is forgotten after a while."""

    def __init__(self, events: Events, *, idle_s: float = IDLE_S, prefix: str = "") -> None:
        """Every id begins with `prefix`, by which others know whom to ask."""
        self._events = events
        self._prefix = prefix
        self._idle_s = idle_s
        self._sessions: dict[str, HttpSession] = {}
        self._tasks = TaskSet()
        self._sweeper: asyncio.TimerHandle | None = None

    def open(self, make_endpoint: MakeEndpoint) -> HttpSession:
        """A session for a new client. Raises Refusal when there is no room."""
        if len(self._sessions) >= MOST_SESSIONS:
            self._make_room()
        session = HttpSession(make_endpoint, self._prefix)
        self._sessions[session.id] = session
        known = session.endpoint.session
        self._events.emit(
            SessionOpened(session_id=known.id, via=known.via, person=name_in_logs(known.person))
        )
        if self._sweeper is None:
            self._sweep()
        return session

    def get(self, session_id: str, person: Person | None = None) -> HttpSession | None:
        """The session of this person with this id, which is in use from now on."""
        session = self._sessions.get(session_id)
        if session is None or not session.endpoint.is_of(person):
            return None
        session.touch()
        return session

    def close(self, session: HttpSession, reason: str) -> None:
        """End a session."""
        if self._sessions.pop(session.id, None) is not None:
            known = session.endpoint.session
            self._events.emit(SessionClosed(session_id=known.id, reason=reason))
            self._tasks.start(session.aclose())

    def __iter__(self) -> Iterator[HttpSession]:
        return iter(tuple(self._sessions.values()))

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._idle_s
        for session in self:
            if session.last_used <= oldest and not session.is_busy:
                self.close(session, "idle")
        again = bool(self._sessions)
        self._sweeper = loop.call_later(self._idle_s / 4, self._sweep) if again else None

    def _make_room(self) -> None:
        idle = [session for session in self if not session.is_busy]
        if not idle:
            raise Refusal(503, "too many clients are connected")
        # Of whoever has most: nobody pushes others out.
        counts = Counter(map(_whose, self))
        oldest = min(idle, key=lambda session: (-counts[_whose(session)], session.last_used))
        self.close(oldest, "too many sessions")

    async def aclose(self) -> None:
        """End them all."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        sessions = tuple(self)
        for session in sessions:
            self.close(session, "closed")
        await close_all(session.aclose() for session in sessions)
        await self._tasks.aclose()
