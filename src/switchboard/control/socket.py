"""The control API on the daemon's socket: a JSON line for each request, and one for its answer."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, Literal

import msgspec

from switchboard.control.api import Control
from switchboard.control.connection import SocketConnection
from switchboard.control.messages import ApprovalReply, Aside, fault_line, line_of
from switchboard.control.requests import (
    AnyRequest,
    CallRequest,
    EventsRequest,
    StopRequest,
    read_request,
)
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.events import ApprovalAsked
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.questions import BY_CLIENT, Answer, Question
from switchboard.ipc.lines import Gone
from switchboard.ipc.protocol import BEAT, GREETING_S, WORKING_S
from switchboard.wire.frames import MAX_MESSAGE_BYTES

_read_reply = msgspec.json.Decoder(ApprovalReply).decode


async def serve_requests(
    control: Control, connection: SocketConnection, first: bytes = b""
) -> None:
    """Answer until the caller leaves. Raises `Gone` and `TimeoutError`."""
    while True:
        line = first or await connection.line(MAX_MESSAGE_BYTES, GREETING_S)
        first = b""
        try:
            request = read_request(line)
        except msgspec.MsgspecError as error:
            _tell(connection, Aside(error=str(error)))
            continue
        except RecursionError:
            _tell(connection, Aside(error="it is nested too deeply"))
            continue
        match request:
            case EventsRequest():
                await _show_events(control, connection, request)
                return
            case StopRequest():
                # At once, because this connection ends with us, by which the caller learns of it.
                connection.say((await control.answer(request)).decode().rstrip("\n"))
                await connection.until_gone()
                raise Gone
            case _:
                work = control.answer(
                    request,
                    asker=_CallerAsker(connection) if _asks(request) else None,
                    hear=lambda news: _pass_on(connection, news),
                )
        await connection.send(await _answered(work, connection))


async def _answered(work: Coroutine[Any, Any, bytes], connection: SocketConnection) -> bytes:
    """The answer or the fault. A caller that leaves gets none, and the work ends."""
    async with TaskSet() as tasks:
        task = tasks.start(work)
        while not task.done():
            await asyncio.wait(
                {task, connection.gone}, timeout=WORKING_S, return_when=asyncio.FIRST_COMPLETED
            )
            if connection.gone.done():
                raise Gone
            if not task.done() and not connection.is_behind:
                connection.say(BEAT)
        try:
            return task.result()
        except Fault as fault:
            return fault_line(fault)


def _asks(request: AnyRequest) -> bool:
    return isinstance(request, CallRequest) and request.asks


def _pass_on(connection: SocketConnection, news: ApprovalAsked | CallStep) -> None:
    if isinstance(news, ApprovalAsked):
        _tell(connection, Aside(asked=news))
    elif not connection.is_behind:
        # Whoever reads too slowly misses steps; the transcript of the run has them all.
        _tell(connection, Aside(step=news))


def _tell(connection: SocketConnection, aside: Aside) -> None:
    connection.say(line_of(aside).decode().rstrip("\n"))


class _CallerAsker:
    """Asks whoever made the call, over the connection that the call came by."""

    def __init__(self, connection: SocketConnection) -> None:
        self._connection = connection

    async def ask(self, question: Question, /) -> Answer:
        _tell(self._connection, Aside(ask=question))
        try:
            verdict = await self._verdict(question.id)
        except asyncio.CancelledError:
            _tell(self._connection, Aside(withdrawn=question.id))
            raise
        return Answer(verdict=verdict, by=BY_CLIENT, at=time.time())

    async def _verdict(self, question_id: str) -> Literal["approved", "denied", "cancelled"]:
        while True:
            try:
                reply = _read_reply(await self._connection.line(MAX_MESSAGE_BYTES, None))
            except (Gone, msgspec.MsgspecError):
                return "cancelled"
            # An answer to an earlier question may have crossed its withdrawal.
            if reply.id == question_id:
                return reply.verdict


async def _show_events(
    control: Control, connection: SocketConnection, request: EventsRequest
) -> None:
    for line in control.events(request.last):
        connection.say(line)
    if not request.follow:
        # An empty line ends the list, so that its reader need not wait for our end.
        connection.say("")
        await asyncio.sleep(0)
        return
    forget = control.follow(connection.say)
    try:
        await connection.until_gone()
    finally:
        forget()
