"""A child of the modern era asks by its result: answer it and send the request again."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Raw, Struct

from switchboard.children.inbound.attribution import marked_inputs
from switchboard.children.inbound.question_rate import MOST_AT_ONCE, TOO_FAST, QuestionRate
from switchboard.children.inbound.sizes import MOST_NOTE_BYTES, is_long
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchboard.wire.eras import INPUT_METHODS
from switchboard.wire.messages import encode

_MOST_ROUNDS = 16
# A child that only wants to be asked again later is not asked again at once.
_PAUSE_S = 0.2
_COMPLETE = b'{"resultType":"complete"'


class _Wanted(Struct):
    method: str
    params: Raw = Raw(b"{}")


class _Result(Struct, rename="camel"):
    result_type: str = "complete"
    input_requests: dict[str, _Wanted] = {}
    request_state: str = ""


_read_result = msgspec.json.Decoder(_Result).decode


async def settle(
    child: str,
    channel: Channel | None,
    rate: QuestionRate,
    send: Callable[[bytes], Awaitable[Raw]],
    first: Raw,
    *,
    hide: Redact = NO_SECRETS,
) -> Raw:
    """The child's last word. `send` repeats the request with more members in its params."""
    result = first
    for _ in range(_MOST_ROUNDS):
        if bytes(memoryview(result)[: len(_COMPLETE)]) == _COMPLETE:
            return result
        try:
            asked = _read_result(result)
        except msgspec.MsgspecError:
            # Whoever reads the result says what is wrong with it.
            return result
        if asked.result_type != "input_required":
            return result
        members = b""
        if asked.input_requests:
            answers = await _answers(child, channel, rate, asked.input_requests, hide)
            members += b',"inputResponses":' + encode(answers)
        else:
            await asyncio.sleep(_PAUSE_S)
        if asked.request_state:
            members += b',"requestState":' + encode(asked.request_state)
        result = await send(members)
    raise Fault(
        FaultCode.RESOURCE_EXHAUSTED,
        "too-many-questions",
        f"`{child}` asked {_MOST_ROUNDS} times without coming to an end",
    )


async def _answers(
    child: str,
    channel: Channel | None,
    rate: QuestionRate,
    wanted: dict[str, _Wanted],
    hide: Redact,
) -> "dict[str, Raw]":
    if len(wanted) > MOST_AT_ONCE:
        raise Fault(
            FaultCode.RESOURCE_EXHAUSTED,
            "too-many-questions",
            f"`{child}` asked more than {MOST_AT_ONCE} questions at once",
        )
    if channel is None or any(each.method not in INPUT_METHODS for each in wanted.values()):
        raise Fault(
            FaultCode.UNIMPLEMENTED,
            "child-asks",
            f"`{child}` wants more input than this client can be asked for",
        )
    if any(is_long(each.method, each.params) for each in wanted.values()):
        raise Fault(
            FaultCode.RESOURCE_EXHAUSTED,
            "question-too-large",
            f"`{child}` asked a question of more than {MOST_NOTE_BYTES:,} bytes",
        )
    try:
        asked = {key: (each.method, each.params) for key, each in wanted.items()}
        inputs = marked_inputs(child, asked, hide)
    except msgspec.MsgspecError as error:
        raise Fault(
            FaultCode.INTERNAL,
            "result-malformed",
            f"what `{child}` asks makes no sense",
            private=str(error),
        ) from None
    if not rate.allows(channel.holder, (each.method for each in inputs.values())):
        raise Fault(FaultCode.RESOURCE_EXHAUSTED, "too-many-questions", f"`{child}`: {TOO_FAST}")
    return dict(await channel.ask(inputs))
