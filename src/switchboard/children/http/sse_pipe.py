"""HTTP with server-sent events, the transport of 2024-11-05.

One stream brings every message of the server. Its first event names the address that takes ours.
"""

import asyncio

from switchboard.children.http.client import RemoteClient, refusal
from switchboard.children.http.outgoing import ACCEPT_EVENTS, Outgoing
from switchboard.children.http.pipe import REFUSED_FROM, HttpPipe
from switchboard.children.reaching.interruption import Interruption
from switchboard.core.faults import Fault, FaultCode
from switchboard.wire.eras import MODERN_ONLY
from switchboard.wire.frames import FrameTooLarge
from switchboard.wire.http_headers import SSE_TYPE, media_type
from switchboard.wire.messages import METHOD_NOT_FOUND, RpcError
from switchboard.wire.pipes import Loss
from switchboard.wire.sse import EventReader, ServerEvent

_NOT_FOUND = 404
_LAST_POSTS_S = 2.0


class SsePipe(HttpPipe):
    """One stream for every message of the server, and an address for ours."""

    def __init__(self, client: RemoteClient, name: str) -> None:
        super().__init__(client, "it closed the stream")
        self._name = name
        self._endpoint = client.url
        # Whether nothing goes out here any more.
        self._is_left = False
        self._posts: set[asyncio.Task[None]] = set()
        self._found: asyncio.Future[None] = asyncio.get_running_loop().create_future()

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
        self._is_left = True
        # Of what is just being sent, the server may still say that it never took it.
        await self.finish()
        if self._peer is not None:
            self._peer.lose(loss)

    async def finish(self) -> None:
        if self._is_left and self._posts:
            await asyncio.wait(self._posts, timeout=_LAST_POSTS_S)

    async def _read_events(self) -> Loss:
        client = self._client
        async with client.stream("GET", client.url, ACCEPT_EVENTS) as response:
            kind = media_type(response.headers.get("content-type", ""))
            if response.status_code >= REFUSED_FROM or kind != SSE_TYPE:
                raise self._not_sse(f"answered with HTTP status {response.status_code}, not with")
            self._heard()
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
        elif event.name == "message" and event.data:
            self._heard()
            self._receive(event.data)

    def _not_sse(self, what: str) -> Fault:
        return Fault(
            FaultCode.UNAVAILABLE,
            "remote-unreachable",
            f"`{self._name}` at {self._client.place} {what} where messages go",
            hint="set `transport` to `http` if it speaks Streamable HTTP",
        )

    def _woke_up(self) -> None:
        """Answers would come by a stream that may lead nowhere, so another is opened."""
        super()._woke_up()
        self._leave("its stream was open while the machine slept")

    def _leave(self, why: str) -> None:
        self._is_left = True
        self.ended = why
        if self._peer is not None:
            self._peer.retire(Loss(message=why))

    def _not_taken(self) -> Interruption:
        return self._client.interrupted("has to be reached again", may_have_run=False)

    def _send(self, message: Outgoing, body: bytes) -> None:
        if self._is_left:
            self._fail(message, self._not_taken())
        elif message.method in MODERN_ONLY:
            # This transport is older than that era, so nobody needs to be asked.
            error = RpcError(METHOD_NOT_FOUND, "this transport belongs to the handshake era")
            asyncio.get_running_loop().call_soon(self._fail, message, error)
        else:
            task = self._start_post(message, body)
            self._posts.add(task)
            task.add_done_callback(self._posts.discard)

    async def _carry(self, message: Outgoing, body: bytes) -> None:
        headers = message.headers()
        async with self._client.stream("POST", self._endpoint, headers, body) as response:
            answer = await self._client.read(response)
            if response.status_code == _NOT_FOUND:
                self._leave("it does not know the session of its stream")
                raise self._not_taken()
            if response.status_code >= REFUSED_FROM:
                raise refusal(response, answer)
