"""The next turn of a run, asked for on the page: a call like any other, which passes the gates."""

import asyncio
import shlex
import time
from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct

from switchboard.control.answers import Nothing
from switchboard.control.requests import CallRequest, RunReplyRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Answer, Question
from switchboard.daemon.board.registry import BoardHandle
from switchboard.daemon.caller import open_caller
from switchboard.runs.ports import Runs

_REPLY = "run_reply"
# After the question itself has ended, which is what counts.
_LATER_S = 5.0


class _Block(Struct):
    text: str = ""


class _Result(Struct, rename="camel"):
    content: tuple[_Block, ...] = ()
    is_error: bool = False


class _InQueue:
    """Whoever sits at the page answers in its queue, and for that takes a code."""

    async def ask(self, question: Question, /) -> Answer | None:
        await asyncio.sleep(max(0.0, question.expires_at - time.time()) + _LATER_S)
        return None


async def reply(boards: Iterable[BoardHandle], runs: Runs, request: RunReplyRequest) -> Nothing:
    """Go on with the conversation of a run that has ended. Raises a fault."""
    run = await runs.get(request.id)
    spec = run.spec
    board = next(
        (each for each in boards if each.runtime.settings.workspace == spec.workspace), None
    )
    if board is None:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "no-board",
            f"no client works in {spec.workspace} now, so that nothing is served there",
            hint=f"cd {shlex.quote(spec.workspace)} && switchboard runs reply {run.id} '…'",
        )
    arguments = Raw(msgspec.json.encode({"run_id": run.id, "task": request.text}))
    wanted = CallRequest(name=_REPLY, arguments=arguments, asks=True)
    board.enter()
    try:
        async with open_caller(board.runtime, cwd=spec.cwd, via="page") as caller:
            answer = await caller.call(wanted, asker=_InQueue())
    finally:
        board.leave()
    result = msgspec.json.decode(answer.result, type=_Result)
    if result.is_error:
        said = " ".join(block.text for block in result.content)
        raise Fault(FaultCode.FAILED_PRECONDITION, "run-not-begun", said)
    return Nothing()
