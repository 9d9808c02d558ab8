"""The modern era over HTTP: every POST stands alone, and its headers repeat what it says."""

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from switchboard.core.loop.tasks import TaskSet
from switchboard.core.loop.timers import Timers
from switchboard.core.people import Person
from switchboard.surface.endpoint import Endpoint
from switchboard.surface.http.answers import begin, error_reply, read_message, request_id, start
from switchboard.surface.http.delivery import Delivery
from switchboard.surface.http.exchange import Exchange, HttpReply, Refusal, trace_of
from switchboard.surface.http.params import SchemaOf, check_params
from switchboard.surface.http.streams import Stream
from switchboard.surface.sink import Sink
from switchboard.wire.eras import (
    CLIENT_CAPABILITIES_KEY,
    HANDSHAKE_ONLY,
    HEADER_MISMATCH,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from switchboard.wire.http_headers import METHOD, NAME, NAMED_BY, PROTOCOL_VERSION, text_of
from switchboard.wire.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Envelope,
    MessageId,
    RpcError,
)

# For a request, with the address that it came from, and who sent it.
MakeModernEndpoint = Callable[[Sink, str, Person | None], Endpoint]

_ROUTING = frozenset({PROTOCOL_VERSION, METHOD, NAME})


class _Meta(Struct, frozen=True):
    version: Any = msgspec.field(name=PROTOCOL_VERSION_KEY, default=UNSET)
    capabilities: Any = msgspec.field(name=CLIENT_CAPABILITIES_KEY, default=UNSET)


class _Claims(Struct, frozen=True):
    """The parameters that headers repeat."""

    meta: _Meta = msgspec.field(name="_meta", default=_Meta())
    name: Any = None
    uri: Any = None
    task_id: Any = msgspec.field(name="taskId", default=None)
    request_state: Any = msgspec.field(name="requestState", default=None)


class _Body(Struct, frozen=True):
    params: _Claims = _Claims()


class ModernEra:
    """Clients without a handshake and without a session."""

    def __init__(self, make_endpoint: MakeModernEndpoint, schema_of: SchemaOf) -> None:
        self._make_endpoint = make_endpoint
        self._schema_of = schema_of
        self._tasks = TaskSet()
        self._listening: dict[Endpoint, Stream] = {}

    @cached_property
    def _bells(self) -> Timers[Delivery]:
        """Of answers that take long."""
        return Timers(asyncio.get_running_loop(), Delivery.ring)

    async def post(self, exchange: Exchange, body: bytes) -> None:
        """Answer one message."""
        message = read_message(body)
        if message.method is UNSET:
            raise Refusal(400, "the body must be one request or notification")
        if message.id is UNSET:
            await exchange.reply(_acknowledged(exchange))
            return
        message_id = request_id(message)
        try:
            claims = check_headers(exchange, message)
            if message.method == "tools/call" and isinstance(claims.name, str):
                await check_params(exchange, message.params, claims.name, self._schema_of)
        except RpcError as error:
            await exchange.reply(error_reply(message_id, error, modern=True))
            return
        if message.method == "subscriptions/listen" and not exchange.accepts_events:
            raise Refusal(406, "the client must accept `text/event-stream`")
        await self._answer(exchange, message, message_id)

    async def _answer(self, exchange: Exchange, message: Envelope, message_id: MessageId) -> None:
        stream = Stream(accepts_events=exchange.accepts_events, trace=trace_of(exchange))
        endpoint = self._make_endpoint(stream, exchange.client_address, exchange.person)
        answer = begin(endpoint, message, stream, modern=True)
        if isinstance(answer, HttpReply):
            await exchange.reply(answer)
            return
        work = start(self._tasks, answer, message_id, modern=True, then=stream.answer)
        stream.follow(work)
        # In this era a client that leaves has cancelled, says the protocol.
        stream.leaving = "cancelled"

        def done() -> None:
            # There is no session in which the client could come back for its answer.
            stream.abandon()
            self._listening.pop(endpoint, None)
            endpoint.close()

        delivery = Delivery(exchange, stream, self._tasks)
        if message.method == "subscriptions/listen":
            self._listening[endpoint] = stream
        elif exchange.is_plain and exchange.is_lost is None:
            delivery.begin(self._bells, done)
            return
        try:
            await delivery.run()
            if not stream.has_ended and exchange.is_lost is not None and await exchange.is_lost():
                # It was not the client who left, but the gateway between us. What was begun goes
                # on, and the client finds it when it sends the same again.
                stream.release()
        finally:
            done()

    def changed(self, kind: str, session_id: str) -> None:
        """Tell everyone who listens."""
        for endpoint in tuple(self._listening):
            endpoint.changed(kind, session_id)

    def end_streams(self) -> None:
        """End every stream that follows news; what it would tell comes elsewhere."""
        for stream in self._listening.values():
            stream.end()

    async def aclose(self) -> None:
        """End what is under way, and with it every stream."""
        await self._tasks.aclose()


def claims_modern(body: bytes) -> bool:
    """Whether a body names a version as only the modern era does."""
    return _claims(body).meta.version is not UNSET


def state_in(body: bytes) -> str | None:
    """The state that a request goes on with, if it does."""
    if b"requestState" not in body:
        return None
    state = _claims(body).request_state
    return state if isinstance(state, str) else None


def check_headers(exchange: Exchange, message: Envelope) -> _Claims:
    """The headers say what the body says, which is given. Raises RpcError."""
    if exchange.repeated and (repeated := sorted(_ROUTING & exchange.repeated)):
        raise RpcError(HEADER_MISMATCH, f"the header `{repeated[0]}` appears more than once")
    claims = _params(message.params)
    if claims.meta.version is UNSET or claims.meta.capabilities is UNSET:
        needed = f"`{PROTOCOL_VERSION_KEY}` and `{CLIENT_CAPABILITIES_KEY}`"
        raise RpcError(INVALID_PARAMS, f"`_meta` needs {needed}")
    if exchange.header(PROTOCOL_VERSION) != claims.meta.version:
        raise RpcError(HEADER_MISMATCH, f"`{PROTOCOL_VERSION}` and the body do not agree")
    if exchange.header(METHOD) != message.method:
        raise RpcError(HEADER_MISMATCH, f"`{METHOD}` and the method do not agree")
    _check_name(exchange, message, claims)
    if message.method in HANDSHAKE_ONLY:
        raise RpcError(METHOD_NOT_FOUND, f"`{message.method}` is not offered")
    return claims


def _check_name(exchange: Exchange, message: Envelope, claims: _Claims) -> None:
    named_by = NAMED_BY.get(str(message.method), "")
    members = {"name": claims.name, "uri": claims.uri, "taskId": claims.task_id}
    named = members.get(named_by)
    given = exchange.header(NAME)
    if named is not None and (given is None or text_of(given) != named):
        raise RpcError(HEADER_MISMATCH, f"`{NAME}` and `{named_by}` do not agree")


def _acknowledged(exchange: Exchange) -> HttpReply:
    """The era has no notification that a server would act on; one of a known version is taken."""
    version = exchange.header(PROTOCOL_VERSION) or ""
    if version in MODERN_VERSIONS:
        return HttpReply(202)
    supported = {"supported": MODERN_VERSIONS, "requested": version}
    error = RpcError(
        UNSUPPORTED_PROTOCOL_VERSION, "the protocol version is not supported", supported
    )
    return error_reply(None, error, modern=True)


def _claims(body: bytes) -> _Claims:
    try:
        return msgspec.json.decode(body, type=_Body).params
    except (msgspec.MsgspecError, RecursionError):
        return _Claims()


def _params(raw: Raw) -> _Claims:
    try:
        return msgspec.json.decode(raw, type=_Claims)
    except (msgspec.MsgspecError, RecursionError):
        return _Claims()
