"""HTTP with server-sent events, the transport of 2024-11-05.

One stream brings every message of the server. Its first event names the address that takes ours.
"""

import asyncio

import msgspec

from switchboard.children.remote_client import RemoteClient
from switchboard.children.remote_outgoing import ACCEPT_EVENTS, Outgoing, read_outgoing
from switchboard.children.remote_replies import as_line, refusal
from switchboard.children.remote_streamable import OPENING_S
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.tasks import TaskSet
from switchboard.wire.eras import MODERN_ONLY
from switchboard.wire.frames import FrameTooLarge
from switchboard.wire.http_headers import SSE_TYPE, media_type
from switchboard.wire.messages import METHOD_NOT_FOUND, Parts, RpcError
from switchboard.wire.peer import Peer
from switchboard.wire.pipes import Loss
from switchboard.wire.sse import EventReader, ServerEvent

_REFUSED_FROM = 400


class SsePipe:
    """Where the messages for one server go out."""

    def __init__(self, client: RemoteClient, name: str) -> None:
        self._client = client
        self._name = name
        self._peer: Peer | None = None
        self._tasks = TaskSet()
        self._opening: asyncio.Task[None] | None = None
        self._closing = False
        self._endpoint = client.url
        self._found: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended = "it closed the stream"

    def attach(self, peer: Peer) -> None:
        """Say who gets the messages."""
        self._peer = peer

    async def open(self, timeout_s: float) -> None:
        """Open the stream and learn where messages go. Raises a fault."""
        self._tasks.start(self._read())
        try:
            async with asyncio.timeout(timeout_s):
                await self._found
        except TimeoutError:
            raise Fault(
                FaultCode.DEADLINE_EXCEEDED,
                "child-start-timeout",
                f"`{self._name}` did not say within {timeout_s:g} s where messages go",
            ) from None

    async def _read(self) -> None:
        try:
            loss = await self._read_events()
        except Fault as fault:
            loss = Loss(reason="broken", message=fault.message)
            if not self._found.done():
                self._found.set_exception(fault)
        except FrameTooLarge as error:
            loss = Loss(reason="too-large", message=str(error))
        if not self._found.done():
            self._found.set_exception(self._not_sse("ended its stream before it said"))
        if self._peer is not None:
            self._peer.lose(loss)

    async def _read_events(self) -> Loss:
        client = self._client
        async with client.stream("GET", client.url, ACCEPT_EVENTS) as response:
            kind = media_type(response.headers.get("content-type", ""))
            if response.status_code >= _REFUSED_FROM or kind != SSE_TYPE:
                raise self._not_sse(f"answered with HTTP status {response.status_code}, not with")
            reader = EventReader()
            async for chunk in response.aiter_bytes():
                for event in reader.feed(chunk):
                    self._take(event)
        return Loss()

    def _take(self, event: ServerEvent) -> None:
        if event.name == "endpoint" and not self._found.done():
            endpoint = self._client.url.join(event.data.decode("utf-8", "replace"))
            if not self._client.is_ours(endpoint):
                raise self._not_sse("wants messages sent to another origin; it did not say")
            self._endpoint = endpoint
            self._found.set_result(None)
        elif event.name == "message" and event.data and self._peer is not None:
            self._peer.receive(as_line(event.data))

    def _not_sse(self, what: str) -> Fault:
        return Fault(
            FaultCode.UNAVAILABLE,
            "remote-unreachable",
            f"`{self._name}` at {self._client.url.host} {what} where messages go",
            hint="set `transport` to `http` if it speaks Streamable HTTP",
        )

    def send(self, parts: Parts) -> None:
        if self._closing:
            return
        body = b"".join(parts)
        message = read_outgoing(body)
        if message.method in MODERN_ONLY:
            # This transport is older than that era, so nobody needs to be asked.
            error = RpcError(METHOD_NOT_FOUND, "this transport belongs to the handshake era")
            asyncio.get_running_loop().call_soon(self._fail, message, error)
            return
        task = self._tasks.start(self._post(message, body))
        if message.method == "notifications/initialized":
            self._opening = task

    async def _post(self, message: Outgoing, body: bytes) -> None:
        if message.is_request and self._opening is not None:
            # Some servers refuse every request that overtakes `notifications/initialized`.
            await asyncio.wait({self._opening}, timeout=OPENING_S)
        headers = message.headers()
        try:
            async with self._client.stream("POST", self._endpoint, headers, body) as response:
                answer = await self._client.read(response)
                if response.status_code >= _REFUSED_FROM:
                    raise refusal(response, answer)
        except (Fault, RpcError) as error:
            self._fail(message, error)
        except Exception as error:  # noqa: BLE001 - see `unexpected`
            self._fail(message, self._client.unexpected(error))

    def _fail(self, message: Outgoing, error: Exception) -> None:
        if message.is_request and self._peer is not None and message.id is not msgspec.UNSET:
            self._peer.pending.fail(message.id, error)

    def pause(self) -> None:
        """A child is never held back."""

    def resume(self) -> None:
        """See `pause`."""

    def close(self) -> None:
        self._closing = True

    async def aclose(self) -> None:
        """Close the stream and every other connection."""
        self._closing = True
        await self._tasks.aclose()
        await self._client.aclose()
