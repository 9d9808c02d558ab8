"""The control API over HTTP: `POST /control/status` and so on, with the words of the socket.

Events can be followed with `GET /control/events` as a stream. Behind a token of its own, so that
who may call tools may not therefore look after the daemon.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from switchboard.control.api import Control
from switchboard.control.messages import fault_line
from switchboard.control.requests import AnyRequest, read_request
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.surface.http.exchange import (
    BodyBudget,
    ClientLeft,
    Exchange,
    HttpReply,
    Refusal,
    closing,
)
from switchboard.surface.http.listener import CONTROL_PATH
from switchboard.wire.frames import MAX_MESSAGE_BYTES
from switchboard.wire.http_headers import JSON_TYPE, media_type
from switchboard.wire.messages import encode

# How many events a reader may be behind; who reads more slowly misses some.
_MOST_UNREAD = 1_000
_KEEP_ALIVE_S = 15.0
_STATUS = {
    FaultCode.NOT_FOUND: HTTPStatus.NOT_FOUND,
    FaultCode.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    FaultCode.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    FaultCode.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    FaultCode.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class AccessCheck(Protocol):
    """Says who may ask."""

    def check(self, exchange: Exchange, /) -> None:
        """Let the request pass, or raise Refusal."""
        ...


class ControlRoutes:
    """Everything below `/control/`, and the same words for whoever else has checked who asks."""

    def __init__(self, control: Control, access: AccessCheck) -> None:
        self._control = control
        self._access = access
        # Requests under way, and streams of events.
        self._under_way = TaskSet()
        self._is_closing = False
        self._unfinished = BodyBudget()

    async def aclose(self) -> None:
        """End what is under way, and every stream."""
        self._is_closing = True
        await self._under_way.aclose()

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request. Raises Refusal."""
        self._access.check(exchange)
        word = exchange.path.removeprefix(CONTROL_PATH)
        if exchange.method == "GET" and word == "events":
            if self._is_closing:
                raise closing()
            await self._follow(exchange)
            return
        await self.answer(exchange, word)

    async def answer(self, exchange: Exchange, word: str) -> None:
        """Answer one request of whoever may ask. Raises Refusal."""
        if self._is_closing:
            raise closing()
        if exchange.method != "POST":
            raise Refusal(405, "this method is not offered", headers=((b"allow", b"POST"),))
        if media_type(exchange.header("content-type") or "") != JSON_TYPE:
            raise Refusal(415, f"the content type must be `{JSON_TYPE}`")
        body = await exchange.body(MAX_MESSAGE_BYTES, self._unfinished)
        try:
            fields = msgspec.json.decode(body or b"{}", type=dict[str, Raw])
            request = read_request(encode({**fields, "do": word}))
        except msgspec.MsgspecError as error:
            raise Refusal(400, f"this is not a valid request: {error}") from None
        except RecursionError:
            raise Refusal(400, "this is not a valid request: it is nested too deeply") from None
        await exchange.reply(await self._answered(exchange, request))

    async def _answered(self, exchange: Exchange, request: AnyRequest) -> HttpReply:
        work = self._under_way.start(self._control.answer(request))
        if not await _is_there_until(work, exchange):
            raise ClientLeft
        if work.cancelled():
            raise closing()
        try:
            return HttpReply(HTTPStatus.OK, (work.result(),))
        except Fault as fault:
            return HttpReply(_STATUS.get(fault.code, HTTPStatus.CONFLICT), (fault_line(fault),))

    async def _follow(self, exchange: Exchange) -> None:
        """Every event from now on, until the client leaves or we close."""
        if not exchange.accepts_events:
            raise Refusal(406, "the client must accept `text/event-stream`")
        unread: asyncio.Queue[str] = asyncio.Queue(_MOST_UNREAD)

        def note(line: str) -> None:
            with contextlib.suppress(asyncio.QueueFull):
                unread.put_nowait(line)

        forget = self._control.follow(note)
        try:
            await self.until_left(exchange, _pass_on(unread, exchange))
        finally:
            forget()

    async def until_left(self, exchange: Exchange, passing: Coroutine[Any, Any, None]) -> None:
        """Send a stream until it ends, the client leaves or we close."""
        if await _is_there_until(self._under_way.start(passing), exchange):
            await exchange.end()


async def _is_there_until(work: "asyncio.Task[Any]", exchange: Exchange) -> bool:
    """Wait for the work, and say whether the client did, too. Else the work ends."""
    async with TaskSet() as tasks:
        left = tasks.start(exchange.until_left())
        try:
            await asyncio.wait({left, work}, return_when=asyncio.FIRST_COMPLETED)
            return work.done()
        finally:
            work.cancel()


async def _pass_on(unread: "asyncio.Queue[str]", exchange: Exchange) -> None:
    await exchange.begin_events()
    while True:
        try:
            async with asyncio.timeout(_KEEP_ALIVE_S):
                line = await unread.get()
        except TimeoutError:
            await exchange.keep_alive()
        else:
            await exchange.event((line.encode(),))
