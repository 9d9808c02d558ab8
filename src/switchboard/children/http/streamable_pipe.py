"""Streamable HTTP: every message of ours is a POST, and each request's answer comes back on it.

In the handshake era the server may keep a session, and may offer a stream of its own messages. In
the modern era there is neither, and closing the answer is how a request is cancelled.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from functools import partial

import httpx2
import msgspec
from msgspec import Raw, Struct

from switchboard.children.http.argument_headers import NO_HEADERS, ArgumentHeaders
from switchboard.children.http.client import RemoteClient, refusal
from switchboard.children.http.event_stream import (
    LAST_BYTES_S,
    LONGEST_PAUSE_S,
    PAUSE_S,
    StreamPosition,
    is_event_stream,
    take_events,
)
from switchboard.children.http.outgoing import ACCEPT_EVENTS, Outgoing, meta_of
from switchboard.children.http.pipe import INITIALIZED, REFUSED_FROM, HttpPipe
from switchboard.children.listings.listing import fetch_tools
from switchboard.children.reaching.interruption import Interruption
from switchboard.core.faults import Fault, FaultCode
from switchboard.wire.eras import HEADER_MISMATCH
from switchboard.wire.frames import FrameTooLarge
from switchboard.wire.http_headers import (
    JSON_TYPE,
    LAST_EVENT_ID,
    PROTOCOL_VERSION,
    SESSION_ID,
    SSE_TYPE,
    media_type,
)
from switchboard.wire.messages import CANCELLED, INTERNAL_ERROR, MessageId, RpcError
from switchboard.wire.peer import Peer
from switchboard.wire.pipes import Loss

SESSION_ENDED = "the server ended the session"

_LISTEN = "subscriptions/listen"
_TOOLS_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
_NOT_FOUND = 404
_GOODBYE_S = 2.0
# How long answers are waited for that were under way in a session that has ended.
_LAST_ANSWERS_S = 30.0
_MOST_RESUMPTIONS = 3


class _Agreed(Struct, frozen=True, rename="camel"):
    protocol_version: str = ""


class _Agreement(Struct, frozen=True):
    result: _Agreed = _Agreed()


class _Post(Struct, frozen=True):
    task: "asyncio.Task[None]"
    is_modern: bool


class StreamablePipe(HttpPipe):
    """A POST for each message, with the session and the stream that a server may keep."""

    def __init__(self, client: RemoteClient) -> None:
        super().__init__(client, "the connection was closed")
        self._posts: dict[MessageId, _Post] = {}
        self._session_id = ""
        self._version = ""
        self._has_ended = False
        self._params = ArgumentHeaders()

    def _send(self, message: Outgoing, body: bytes) -> None:
        if message.method == CANCELLED:
            self._cancel(message, body)
            return
        task = self._start_post(message, body)
        if message.is_request:
            message_id = message.id
            assert message_id is not msgspec.UNSET
            self._posts[message_id] = _Post(task, is_modern=bool(message.modern_version))
            task.add_done_callback(lambda _: self._posts.pop(message_id, None))

    def _cancel(self, message: Outgoing, body: bytes) -> None:
        post = self._posts.get(message.cancels)
        if post is None:
            return
        if post.is_modern:
            post.task.cancel()
        else:
            self._tasks.start(self._cancel_in_words(post, message, body))

    async def _cancel_in_words(self, post: _Post, message: Outgoing, body: bytes) -> None:
        """In the handshake era closing the answer means nothing; the notification does."""
        await self._post(message, body)
        post.task.cancel()

    async def _carry(self, message: Outgoing, body: bytes) -> None:
        if message.method == _LISTEN:
            await self._listen(message, body)
        elif message.method == "tools/call" and message.modern_version:
            await self._call(message, body)
        else:
            await self._exchange(message, body)
        self._fail(message, RpcError(INTERNAL_ERROR, "no answer came to this request"))

    async def _call(self, message: Outgoing, body: bytes) -> None:
        """Make a call; which headers repeat its arguments stands in the listing of the tools."""
        tool = message.params.name or ""
        try:
            await self._exchange(message, body, self._params.headers(tool, body))
        except RpcError as error:
            if error.code != HEADER_MISMATCH or self._params.knows(tool) or self._peer is None:
                raise
            await fetch_tools(partial(_ask_for_tools, self._peer, meta_of(body)))
            headers = self._params.headers(tool, body)
            if not headers:
                raise
            await self._exchange(message, body, headers)

    async def _listen(self, message: Outgoing, body: bytes) -> None:
        """A subscription outlives the connection that it began on."""
        pause_s = PAUSE_S
        while True:
            try:
                await self._exchange(message, body)
                pause_s = PAUSE_S
            except Fault as fault:
                if fault.code is FaultCode.UNAUTHENTICATED:
                    raise
                self.trouble = fault.message
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            if not self._is_open(message):
                return
            await asyncio.sleep(pause_s)
            self._distrust_listing()

    async def _exchange(
        self, message: Outgoing, body: bytes, params: Mapping[str, str] = NO_HEADERS
    ) -> None:
        headers = {**self._with_session(message), **params}
        async with self._client.stream("POST", self._client.url, headers, body) as response:
            self._heard()
            if response.status_code >= REFUSED_FROM:
                await self._refused(response)
            elif not message.is_request:
                if message.method == INITIALIZED and self._session_id:
                    self._tasks.start(self._hear())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LAST_BYTES_S):
                        await self._client.read(response)
            else:
                if message.method == "initialize":
                    self._session_id = response.headers.get(SESSION_ID, "")
                await self._take_answer(response, message)

    def _with_session(self, message: Outgoing | None) -> dict[str, str]:
        headers = message.headers() if message is not None else dict(ACCEPT_EVENTS)
        if message is None or not (message.modern_version or message.method == "initialize"):
            if self._session_id:
                headers[SESSION_ID] = self._session_id
            if self._version:
                headers[PROTOCOL_VERSION] = self._version
        return headers

    async def _refused(self, response: httpx2.Response) -> None:
        error = refusal(response, await self._client.read(response))
        if SESSION_ID in response.request.headers and (
            response.status_code == _NOT_FOUND or _is_about_the_session(error)
        ):
            self._end_session()
            raise self._client.interrupted("ended the session", may_have_run=False)
        raise error

    def _end_session(self) -> None:
        self._session_id = ""
        self._has_ended = True
        self.ended = SESSION_ENDED
        if self._peer is not None:
            # Each of the others hears for itself that the session is gone, or its answer.
            self._peer.retire(Loss(message=SESSION_ENDED))

    # Answers

    async def _take_answer(self, response: httpx2.Response, message: Outgoing) -> None:
        kind = media_type(response.headers.get("content-type", ""))
        if kind == JSON_TYPE:
            self._take(await self._client.read(response), message)
        elif kind == SSE_TYPE:
            position = StreamPosition()
            await self._take_events(response, position, message)
            await self._resume(position, message)
            if message.method != _LISTEN and self._is_open(message):
                what = "ended its answer before it was complete"
                raise self._client.interrupted(what, may_have_run=True)
        else:
            status = response.status_code
            raise RpcError(
                INTERNAL_ERROR, f"it answered with HTTP status {status} and `{kind}`, not with JSON"
            )

    async def _resume(self, position: StreamPosition, message: Outgoing) -> None:
        """Take up a stream that ended before the answer, where the server made that possible."""
        tries = 0
        while self._is_open(message) and position.event_id and tries < _MOST_RESUMPTIONS:
            await asyncio.sleep(position.pause_s)
            before = position.event_id
            headers = {**self._with_session(None), LAST_EVENT_ID: before}
            try:
                async with self._client.stream("GET", self._client.url, headers) as response:
                    self._heard()
                    if not is_event_stream(response):
                        return
                    await self._take_events(response, position, message)
            except Interruption as interruption:
                self.trouble = interruption.message
            tries = 0 if position.event_id != before else tries + 1

    async def _take_events(
        self, response: httpx2.Response, position: StreamPosition, message: Outgoing | None
    ) -> None:
        """Take in what a stream brings, up to the answer if it is one request's stream."""
        try:
            await take_events(
                response,
                position,
                receive=lambda data: self._take(data, message),
                is_done=lambda: message is not None and not self._is_open(message),
            )
        except FrameTooLarge as error:
            raise self._client.too_large(error) from None

    def _is_open(self, message: Outgoing) -> bool:
        return (
            self._peer is not None
            and message.id is not msgspec.UNSET
            and message.id in self._peer.pending
        )

    def _take(self, data: bytes, message: Outgoing | None) -> None:
        if self._peer is None:
            return
        if message is not None and message.method == "tools/list":
            self._params.learn(data)
        elif message is not None and message.method == "initialize":
            with contextlib.suppress(msgspec.MsgspecError):
                agreement = msgspec.json.decode(data, type=_Agreement)
                self._version = agreement.result.protocol_version or self._version
        if message is not None and message.id is not msgspec.UNSET:
            self._peer.about = message.id
        self._receive(data)
        self._peer.about = None

    # The server's own messages

    async def _hear(self) -> None:
        """Follow the stream of the server's own messages for as long as it offers one."""
        position = StreamPosition()
        pause_s = position.pause_s
        while True:
            headers = self._with_session(None)
            if position.event_id:
                headers[LAST_EVENT_ID] = position.event_id
            try:
                async with self._client.stream("GET", self._client.url, headers) as response:
                    self._heard()
                    if response.status_code == _NOT_FOUND and self._session_id:
                        self._end_session()
                    if not is_event_stream(response):
                        return
                    pause_s = position.pause_s
                    await self._take_events(response, position, None)
            except Fault as fault:
                self.trouble = fault.message
                # Somebody may log in some day, and is not told to reconnect anything.
                waits_long = fault.code is FaultCode.UNAUTHENTICATED
                pause_s = LONGEST_PAUSE_S if waits_long else min(pause_s * 2, LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)
            if not position.event_id:
                self._distrust_listing()

    def _distrust_listing(self) -> None:
        """While nobody listened the tools may have changed."""
        if self._peer is not None:
            self._peer.receive(_TOOLS_CHANGED)

    # Ending

    async def finish(self) -> None:
        tasks = {post.task for post in self._posts.values()}
        if self._has_ended and tasks:
            await asyncio.wait(tasks, timeout=_LAST_ANSWERS_S)

    async def _goodbye(self) -> None:
        """Give the session back."""
        if self._session_id:
            headers = self._with_session(None)
            with contextlib.suppress(Fault, TimeoutError):
                async with (
                    asyncio.timeout(_GOODBYE_S),
                    self._client.stream("DELETE", self._client.url, headers),
                ):
                    pass


async def _ask_for_tools(peer: Peer, meta: Raw, members: bytes) -> Raw:
    return await peer.request(
        "tools/list", (b'{"_meta":', meta, b"," + members if members else b"", b"}")
    )


def _is_about_the_session(error: RpcError) -> bool:
    """A server much copied answers a lost session with status 400 and these words."""
    return "no valid session id" in error.message.lower()
