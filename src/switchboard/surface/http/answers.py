"""A message posted over HTTP, and the endpoint's answer to it as a response."""

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import UNSET

from switchboard.core.loop.tasks import TaskSet
from switchboard.surface.endpoint import Endpoint
from switchboard.surface.http.exchange import HttpReply, Refusal
from switchboard.surface.sink import Sink
from switchboard.wire.eras import HTTP_STATUS
from switchboard.wire.messages import (
    INTERNAL_ERROR,
    PARSE_ERROR,
    Envelope,
    MessageId,
    RpcError,
    error_parts,
    read_envelope,
    result_parts,
)
from switchboard.wire.peer import Answer


def read_message(body: bytes) -> Envelope:
    """One message. Raises Refusal."""
    try:
        envelope = read_envelope(body)
    except (msgspec.ValidationError, RecursionError):
        raise Refusal(400, "the body is not a JSON-RPC message") from None
    except msgspec.DecodeError:
        raise Refusal(400, "the body is not JSON", code=PARSE_ERROR) from None
    if envelope.method is UNSET and envelope.id is UNSET:
        raise Refusal(400, "the body is not a JSON-RPC message")
    return envelope


def request_id(envelope: Envelope) -> MessageId:
    """The id of a request. Raises Refusal when it is none that a client may use."""
    if not isinstance(envelope.id, int | str) or isinstance(envelope.id, bool):
        raise Refusal(400, "the `id` of a request is a string or a whole number")
    return envelope.id


def begin(
    endpoint: Endpoint, envelope: Envelope, sink: Sink, *, modern: bool
) -> "HttpReply | Answer":
    """Ask the endpoint: the reply at once, or a result to wait for."""
    assert envelope.method is not UNSET
    message_id = request_id(envelope)
    try:
        answer = endpoint.request(envelope.method, envelope.params, message_id, sink)
    except RpcError as error:
        return error_reply(message_id, error, modern=modern)
    except Exception:  # noqa: BLE001 - as below
        internal = RpcError(INTERNAL_ERROR, "internal error")
        return error_reply(message_id, internal, modern=modern)
    if isinstance(answer, tuple):
        return HttpReply(200, result_parts(message_id, answer))
    return answer


def start(
    tasks: TaskSet,
    answer: Answer,
    message_id: MessageId,
    *,
    modern: bool,
    then: "Callable[[asyncio.Task[HttpReply]], None] | None" = None,
) -> "asyncio.Task[HttpReply]":
    """Work on an answer; every failure is a reply too. `then` is told of the end."""

    def ended(task: "asyncio.Task[HttpReply]") -> None:
        # A task that is cancelled before its first step never gets to what it was to await.
        answer.close()
        if then is not None:
            then(task)

    return tasks.start(_complete(answer, message_id, modern=modern), ended)


async def _complete(answer: Answer, message_id: MessageId, *, modern: bool) -> HttpReply:
    try:
        return HttpReply(200, result_parts(message_id, await answer))
    except RpcError as error:
        return error_reply(message_id, error, modern=modern)
    except Exception:  # noqa: BLE001 - the client must get an answer whatever went wrong
        internal = RpcError(INTERNAL_ERROR, "internal error")
        return error_reply(message_id, internal, modern=modern)


def error_reply(message_id: MessageId, error: RpcError, *, modern: bool) -> HttpReply:
    """An error of the protocol; only the modern era gives it a status of its own."""
    status = HTTP_STATUS.get(error.code, 200) if modern else 200
    return HttpReply(status, error_parts(message_id, error))
