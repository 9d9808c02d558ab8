"""One HTTP request and its response, over ASGI."""

from collections.abc import Awaitable, Callable, MutableMapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from switchboard.core.calls.trace_context import trace_members
from switchboard.core.people import Person
from switchboard.surface.http.plain.head import CYCLE
from switchboard.wire.http_headers import JSON_TYPE, SSE_TYPE, media_type
from switchboard.wire.messages import INVALID_REQUEST, Parts, RpcError, error_parts
from switchboard.wire.sse import KEEP_ALIVE, event_parts, priming_event

if TYPE_CHECKING:
    from switchboard.surface.http.plain.cycle import PlainCycle

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

# Up to here one joined write is cheaper than several; beyond it slices keep copies small.
_JOIN_BYTES = 64 * 1024
_SLICE_BYTES = 256 * 1024
# Four of the largest, and any number of common ones.
_MOST_UNFINISHED = 64 << 20
# Of a request that came over another gateway: the address of its client, vouched for.
RELAYED = "x-switchboard-relayed"
# The tag of that gateway.
RELAYED_BY = "x-switchboard-relayed-by"
# Where the server keeps what is known of a connection.
CONNECTION = "switchboard-connection"
_OK = 200
_SOON: Headers = ((b"retry-after", b"1"),)
_EVENT_HEADERS: Headers = (
    (b"content-type", SSE_TYPE.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class HttpReply(Struct, frozen=True):
    """A response whose body is a text, of JSON unless it says otherwise, or none."""

    status: int
    parts: Parts = ()
    headers: Headers = ()
    media_type: str = JSON_TYPE


class Refusal(Exception):
    """The request is answered with an error before anybody looks at its message."""

    def __init__(
        self, status: int, message: str, *, code: int = INVALID_REQUEST, headers: Headers = ()
    ) -> None:
        super().__init__(message)
        self.reply = HttpReply(status, error_parts(None, RpcError(code, message)), headers)


def closing() -> Refusal:
    """The answer to whoever is late."""
    return Refusal(503, "the server is about to stop")


class ClientLeft(Exception):
    """The client closed the connection before it had sent everything."""


class BodyBudget:
    """How many bytes of unfinished bodies all requests hold together."""

    def __init__(self, most: int = _MOST_UNFINISHED) -> None:
        self.most = most
        self.size = 0


# Few clients say it in many ways, and each says it with every request.
@lru_cache(64)
def _is_accepted(wanted: str, kind: str) -> bool:
    family = kind.partition("/")[0]
    offered = {media_type(choice) for choice in wanted.split(",")}
    return not offered.isdisjoint({kind, f"{family}/*", "*/*"})


class Exchange:
    """A request and the way to answer it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._more: Headers = ()
        # Whether its answer comes after its own task has ended, and who is told of that.
        self.is_promised = False
        self.on_kept: Callable[[Exchange], None] | None = None
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self.local_address: tuple[str, int | None] | None = scope.get("server")
        # Whoever connects is who it is; the port is another one with each connection.
        self.client_address, self.client_port = scope.get("client") or ("", 0)
        # Who asks, once that is known and where people have names.
        self.person: Person | None = None
        # Whether the gateway that passed it on has ended, so that nobody knows of the client.
        self.is_lost: Callable[[], Awaitable[bool]] | None = None
        # What was found out about the connection that this request came by, for those after it.
        self.connection: dict[str, bool] = scope.get("state", {}).get(CONNECTION, {})
        # Of a plain request, whose head is read already.
        cycle = self._cycle = cast("PlainCycle | None", scope.get(CYCLE))
        if cycle is not None:
            self._headers = cycle.head.headers
            self.repeated: AbstractSet[str] = cycle.head.repeated
            # Not where somebody else has a say in what is sent.
            self._direct = cycle if send == cycle.send else None
            # The value of a header: asked so often that it is no function of ours.
            self.header = self._headers.get
            return
        self._direct = None
        self._headers: dict[str, str] = {}
        repeated = self.repeated = set[str]()
        for raw_name, raw_value in scope["headers"]:
            name = raw_name.decode("latin-1")
            if name in self._headers:
                repeated.add(name)
            self._headers[name] = raw_value.decode("latin-1").strip(" \t")
        self.header = self._headers.get

    # Request

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Every header, with its name in small letters."""
        return list(self._headers.items())

    def accepts(self, kind: str) -> bool:
        """Whether the client takes answers of this media type."""
        wanted = self._headers.get("accept")
        return wanted is None or _is_accepted(wanted, kind)

    @property
    def accepts_events(self) -> bool:
        """Whether an answer may be a stream."""
        return self.accepts(SSE_TYPE)

    async def body(self, limit: int, held: "BodyBudget") -> bytes:
        """The whole body. Raises Refusal when it is too large, or there are too many of them."""
        declared = self._headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            raise Refusal(413, f"the body is larger than {limit} bytes")
        whole = None if self._cycle is None else self._cycle.whole_body()
        if whole is not None:
            if held.size + len(whole) > held.most:
                raise Refusal(503, "too much is being sent at once; try again", headers=_SOON)
            return whole
        chunks: list[bytes] = []
        size = 0
        try:
            while True:
                event = await self._receive()
                if event["type"] == "http.disconnect":
                    raise ClientLeft
                chunk: bytes = event.get("body", b"")
                size += len(chunk)
                held.size += len(chunk)
                if size > limit:
                    raise Refusal(413, f"the body is larger than {limit} bytes")
                if held.size > held.most:
                    raise Refusal(503, "too much is being sent at once; try again", headers=_SOON)
                chunks.append(chunk)
                if not event.get("more_body"):
                    return b"".join(chunks) if len(chunks) > 1 else chunk
        finally:
            held.size -= size

    async def until_left(self) -> None:
        """Return when the client has closed the connection. Comes after `body`."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def when_left(self, tell: Callable[[], None]) -> bool:
        """Have somebody told when the client has left before its answer; False if nobody can."""
        if self._cycle is None:
            return False
        self._cycle.when_left(tell)
        return True

    @property
    def is_plain(self) -> bool:
        """Whether it may be answered by whoever has the answer, after its own task has ended."""
        return self._direct is not None

    # Response

    def promise(self) -> None:
        """The answer comes later, from somebody else. Only where `is_plain`."""
        assert self._direct is not None
        self.is_promised = self._direct.is_promised = True

    def keep(self) -> None:
        """What was promised is answered, or nobody is there any more."""
        self.is_promised = False
        if self.on_kept is not None:
            self.on_kept(self)

    def replied(self, reply: HttpReply) -> bool:
        """Whether a whole response could be sent without waiting, as it mostly can."""
        direct = self._direct
        if direct is None or not direct.may_reply:
            return False
        size = sum(map(len, reply.parts))
        if size > _JOIN_BYTES:
            return False
        body = b"".join(reply.parts)
        if reply.status == _OK and reply.media_type is JSON_TYPE and not self._more:
            direct.reply_json(reply.headers, body)
            return True
        headers = [*reply.headers, (b"content-length", b"%d" % size)]
        if size:
            headers.append((b"content-type", reply.media_type.encode()))
        direct.reply(reply.status, [*headers, *self._more], body)
        return True

    def add_headers(self, headers: Headers) -> None:
        """Have these in the response, whatever it is."""
        self._more = (*self._more, *headers)

    async def reply(self, reply: HttpReply) -> None:
        """Send a whole response."""
        if self.replied(reply):
            return
        size = sum(memoryview(part).nbytes for part in reply.parts)
        headers = [*reply.headers, (b"content-length", b"%d" % size)]
        if size:
            headers.append((b"content-type", reply.media_type.encode()))
        await self._start(reply.status, headers)
        if size > _JOIN_BYTES:
            await self._write(reply.parts)
            await self.end()
        else:
            await self._send({"type": "http.response.body", "body": b"".join(reply.parts)})

    async def begin_events(self, headers: Headers = ()) -> None:
        """Begin a response that is a stream of events."""
        await self._start(200, [*_EVENT_HEADERS, *headers])
        # What stands in between holds back a response without a body.
        await self._chunk(KEEP_ALIVE)

    async def event(self, message: Parts, event_id: str = "") -> None:
        """Send one message on the stream."""
        await self._write(event_parts(message, event_id))

    async def prime(self, event_id: str, retry_ms: int) -> None:
        """Say where the stream begins, so that it can be resumed from there."""
        await self._chunk(priming_event(event_id, retry_ms))

    async def keep_alive(self) -> None:
        """Show that the stream is still there."""
        await self._chunk(KEEP_ALIVE)

    async def begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Begin a response that comes in pieces."""
        await self._start(status, headers)

    async def chunk(self, data: bytes) -> None:
        """Send a piece of it."""
        await self._chunk(data)

    async def end(self) -> None:
        """End the response."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        whole = [*headers, *self._more]
        start = {"type": "http.response.start", "status": status, "headers": whole}
        await self._send(start)

    async def _write(self, parts: Parts) -> None:
        views = [memoryview(part) for part in parts]
        if sum(view.nbytes for view in views) <= _JOIN_BYTES:
            await self._chunk(b"".join(views))
            return
        for view in views:
            for start in range(0, view.nbytes, _SLICE_BYTES):
                await self._chunk(view[start : start + _SLICE_BYTES])

    async def _chunk(self, data: "bytes | memoryview") -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


def trace_of(exchange: Exchange) -> bytes:
    """What the headers of a request say of its trace, as members of `_meta`."""
    said = exchange.header("traceparent")
    # Of two that differ neither is believed.
    if said is None or "traceparent" in exchange.repeated:
        return b""
    return trace_members(said, exchange.header("tracestate"))
