"""The handshake era over HTTP: sessions, batches, and a stream for what nobody asked for."""

import asyncio
from functools import partial

import msgspec
from msgspec import UNSET

from switchboard.core.calls.receipts import gave_up
from switchboard.surface.http.answers import begin, read_message, request_id, start
from switchboard.surface.http.exchange import Exchange, HttpReply, Refusal
from switchboard.surface.http.modern import MakeModernEndpoint
from switchboard.surface.http.sessions import HttpSession, HttpSessions
from switchboard.surface.http.streams import Stream
from switchboard.surface.sink import Sink
from switchboard.wire.eras import HANDSHAKE_VERSIONS
from switchboard.wire.http_headers import LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID
from switchboard.wire.messages import (
    CANCELLED,
    PARSE_ERROR,
    Envelope,
    Parts,
    cancelled_id,
    cancelled_reason,
    read_batch,
)

# The one version in which a body may hold several messages.
_BATCHING = "2025-03-26"
_UNKNOWN = "there is no such session; begin with `initialize`"
# Of a stream that broke: clients show it as the answer to the call that it was for.
_LOST = (
    "there is no such session any more, so the answer to what was under way in it is lost, and it"
    " may have been done; begin with `initialize`"
)


class HandshakeEra:
    """Clients that begin with `initialize`."""

    def __init__(self, sessions: HttpSessions, make_endpoint: MakeModernEndpoint) -> None:
        self._sessions = sessions
        self._make_endpoint = make_endpoint

    async def post(self, exchange: Exchange, body: bytes) -> None:
        """Take a message in."""
        if body.lstrip()[:1] == b"[":
            session = self._session(exchange)
            await self._post_batch(session, exchange, body)
            return
        message = read_message(body)
        if message.method == "initialize" and exchange.header(SESSION_ID) is None:
            await exchange.reply(self._initialize(exchange, message))
            return
        session = self._session(exchange)
        if message.method is UNSET or message.id is UNSET:
            self._take_note(session, message)
            await exchange.reply(HttpReply(202))
            return
        stream = session.stream_for(exchange)
        answer = self._begin(session, message, stream, alone=stream)
        if isinstance(answer, HttpReply):
            await exchange.reply(answer)
        else:
            await session.answer(exchange, stream, answer)

    async def get(self, exchange: Exchange) -> None:
        """Open the stream of a session, or go on with one that broke."""
        session = self._session(exchange, _LOST if exchange.header(LAST_EVENT_ID) else _UNKNOWN)
        if not exchange.accepts_events:
            raise Refusal(406, "the client must accept `text/event-stream`")
        if event_id := exchange.header(LAST_EVENT_ID):
            await session.resume(exchange, event_id)
        else:
            await session.listen(exchange)

    async def delete(self, exchange: Exchange) -> None:
        """End a session."""
        self._sessions.close(self._session(exchange), "the client ended it")
        await exchange.reply(HttpReply(204))

    def _session(self, exchange: Exchange, otherwise: str = _UNKNOWN) -> HttpSession:
        session_id = exchange.header(SESSION_ID)
        if not session_id:
            raise Refusal(400, f"the header `{SESSION_ID}` is missing; `initialize` gives it")
        session = self._sessions.get(session_id, exchange.person)
        if session is None:
            raise Refusal(404, otherwise)
        version = exchange.header(PROTOCOL_VERSION)
        if version is not None and version not in HANDSHAKE_VERSIONS:
            raise Refusal(400, f"`{PROTOCOL_VERSION}` names a version that is not supported")
        return session

    def _initialize(self, exchange: Exchange, message: Envelope) -> HttpReply:
        request_id(message)
        # Its own id tells it from others, wherever its client is.
        session = self._sessions.open(lambda sink: self._make_endpoint(sink, "", exchange.person))
        reply = begin(session.endpoint, message, session, modern=False)
        assert isinstance(reply, HttpReply)
        if not session.endpoint.session.protocol:
            self._sessions.close(session, "`initialize` was refused")
            return reply
        return HttpReply(reply.status, reply.parts, ((SESSION_ID.encode(), session.id.encode()),))

    def _begin(
        self, session: HttpSession, message: Envelope, sink: Sink, alone: Stream | None = None
    ) -> "HttpReply | asyncio.Task[HttpReply]":
        """Work on a message; `alone` is the response that has no other."""
        message_id = request_id(message)
        if message_id in session.under_way:
            raise Refusal(400, "a request with this `id` is still under way")
        answer = begin(session.endpoint, message, sink, modern=False)
        if isinstance(answer, HttpReply):
            return answer

        def ended(task: "asyncio.Task[HttpReply]") -> None:
            # By now the id may stand for another request.
            if session.under_way.get(message_id, (None,))[0] is task:
                del session.under_way[message_id]
            session.touch()
            if alone is not None:
                session.answered(alone, task)

        task = start(session.tasks, answer, message_id, modern=False, then=ended)
        session.under_way[message_id] = (task, alone)
        return task

    def _take_note(self, session: HttpSession, message: Envelope) -> None:
        """A notification, or an answer to what we asked."""
        if message.method is UNSET:
            if message.id is not UNSET:
                session.questions.take(message.id, message)
            return
        if message.method != CANCELLED:
            session.endpoint.notification(message.method, message.params)
            return
        message_id = cancelled_id(message.params)
        if found := session.under_way.get(message_id):
            task, stream = found
            why = gave_up(cancelled_reason(message.params))
            if stream is None or not stream.goes_on(why):
                task.cancel()
                return
            # Nobody is answered any more, and the work is done to its end.
            del session.under_way[message_id]
            stream.release()

    async def _post_batch(self, session: HttpSession, exchange: Exchange, body: bytes) -> None:
        if session.endpoint.session.protocol != _BATCHING:
            raise Refusal(400, "this protocol version has no batches")
        try:
            batch = [read_message(bytes(raw)) for raw in read_batch(body)]
        except msgspec.ValidationError as error:
            raise Refusal(400, str(error)) from None
        except (msgspec.MsgspecError, RecursionError):
            raise Refusal(400, "the body is not JSON", code=PARSE_ERROR) from None
        if not batch:
            raise Refusal(400, "a batch holds at least one message")
        if any(message.method == "initialize" for message in batch):
            raise Refusal(400, "`initialize` stands alone")
        stream = session.stream_for(exchange)
        replies: list[HttpReply | asyncio.Task[HttpReply]] = []
        for message in batch:
            if message.method is UNSET or message.id is UNSET:
                self._take_note(session, message)
            else:
                replies.append(self._begin(session, message, stream))
        if not replies:
            await exchange.reply(HttpReply(202))
            return
        work = session.tasks.start(_together(replies), partial(session.answered, stream))
        await session.answer(exchange, stream, work)


async def _together(replies: "list[HttpReply | asyncio.Task[HttpReply]]") -> HttpReply:
    """The replies to a batch as one; a cancelled request has none."""
    working = [reply for reply in replies if not isinstance(reply, HttpReply)]
    try:
        if working:
            await asyncio.wait(working)
    finally:
        for task in working:
            task.cancel()
    parts: list[Parts] = []
    for reply in replies:
        if isinstance(reply, HttpReply):
            parts.append(reply.parts)
        elif not reply.cancelled():
            parts.append(reply.result().parts)
    joined = [piece for part in parts for piece in (b",", *part)]
    return HttpReply(200, (b"[", *joined[1:], b"]"))
