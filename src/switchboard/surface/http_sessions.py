"""Sessions of the handshake era: one client each, found by an id that nobody can guess."""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterator

from msgspec import Raw

from switchboard.core.events import SessionClosed, SessionOpened
from switchboard.core.ports import Events
from switchboard.core.tasks import TaskSet
from switchboard.surface.front import Front
from switchboard.surface.http_delivery import Delivery
from switchboard.surface.http_exchange import Exchange, Refusal, Reply
from switchboard.surface.outlets import Outlet
from switchboard.wire.messages import METHOD_NOT_FOUND, MessageId, Parts, RpcError

IDLE_S = 30 * 60.0
MOST_SESSIONS = 1_000

_ID_BYTES = 32
_MOST_WAITING = 16

MakeFront = Callable[[Outlet], Front]


class HttpSession:
    """One client: its front, its requests under way, and the stream on which we tell it things."""

    def __init__(self, make_front: MakeFront) -> None:
        self.id = secrets.token_urlsafe(_ID_BYTES)
        self.front = make_front(self)
        self.under_way: dict[MessageId, asyncio.Task[Reply]] = {}
        self.tasks = TaskSet()
        self.last_used = asyncio.get_running_loop().time()
        self._stream: Delivery | None = None
        # What we had to say while no stream was open.
        self._unsaid: deque[tuple[str, Parts]] = deque(maxlen=_MOST_WAITING)

    @property
    def is_busy(self) -> bool:
        """Whether the client is there, waiting or listening."""
        return bool(self.under_way) or self._stream is not None

    def touch(self) -> None:
        """The client was heard of."""
        self.last_used = asyncio.get_running_loop().time()

    def notify(self, method: str, params: Parts, /) -> None:
        if self._stream is not None:
            self._stream.notify(method, params)
        elif (method, params) not in self._unsaid:
            self._unsaid.append((method, params))

    async def request(self, method: str, params: Parts, /) -> Raw:
        if self._stream is None:
            raise RpcError(METHOD_NOT_FOUND, "the client has no stream on which it can be asked")
        return await self._stream.request(method, params)

    async def listen(self, exchange: Exchange) -> None:
        """Be the client's one stream until it leaves. A newer one takes the place of an older."""
        if self._stream is not None:
            self._stream.end()
        stream = self._stream = Delivery(exchange)
        while self._unsaid:
            stream.notify(*self._unsaid.popleft())
        try:
            await stream.follow()
        finally:
            if self._stream is stream:
                self._stream = None
            self.touch()

    async def aclose(self) -> None:
        """End the stream and what is under way."""
        self.front.close()
        if self._stream is not None:
            self._stream.end()
        await self.tasks.aclose()


class Sessions:
    """Every session by its id. One that nobody uses is forgotten after a while."""

    def __init__(self, events: Events, *, idle_s: float = IDLE_S) -> None:
        self._events = events
        self._idle_s = idle_s
        self._sessions: dict[str, HttpSession] = {}
        self._tasks = TaskSet()
        self._sweeper: asyncio.TimerHandle | None = None

    def open(self, make_front: MakeFront) -> HttpSession:
        """A session for a new client. Raises Refusal when there is no room."""
        if len(self._sessions) >= MOST_SESSIONS:
            self._make_room()
        session = HttpSession(make_front)
        self._sessions[session.id] = session
        known = session.front.session
        self._events.emit(SessionOpened(session_id=known.id, via=known.via))
        if self._sweeper is None:
            self._sweep()
        return session

    def get(self, session_id: str) -> HttpSession | None:
        """The session with this id, which is in use from now on."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.touch()
        return session

    def close(self, session: HttpSession, reason: str) -> None:
        """End a session."""
        if self._sessions.pop(session.id, None) is not None:
            known = session.front.session
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
        self.close(min(idle, key=lambda session: session.last_used), "too many sessions")

    async def aclose(self) -> None:
        """End them all."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        sessions = tuple(self)
        for session in sessions:
            self.close(session, "closed")
        await asyncio.gather(*(session.aclose() for session in sessions))
        await self._tasks.aclose()
