"""Questions about calls: to the daemon, or to what lies on disk where there is none."""

import asyncio

import msgspec

from switchboard.audit.store import SqliteAudit
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import DATABASE, daemon_answer, older_answers
from switchboard.control.call_desk import (
    CallList,
    ResultAnswer,
    kept_calls,
    kept_result,
    wanted_calls,
)
from switchboard.control.past_calls import with_past
from switchboard.control.requests import CallsRequest, ResultRequest
from switchboard.ipc.paths import places_from
from switchboard.receipts.result_files import ResultFiles


def ask_calls(request: CommandRequest, wanted: CallsRequest) -> CallList:
    """The calls that somebody knows of. Raises a fault."""
    if database := request.environ.get(DATABASE):
        # Few have a team, and the driver of a database takes a while to load.
        from switchboard.daemon.team.desk import team_calls  # noqa: PLC0415

        return asyncio.run(team_calls(database, request.environ, wanted))
    answer = daemon_answer(request, wanted, CallList)
    if answer is None:
        answer = asyncio.run(_own_calls(_home(request), wanted))
    # A daemon that only finishes knows more of its calls than what is written down of them.
    older = older_answers(
        request, msgspec.structs.replace(wanted, past=False), CallList, but_for=""
    )
    known = {each.id: each for found in (answer, *older) for each in found.calls}
    return CallList(calls=wanted_calls(known.values(), wanted)) if older else answer


def ask_result(request: CommandRequest, wanted: ResultRequest) -> ResultAnswer:
    """What became of one. Raises a fault that says what is known instead."""
    answer = daemon_answer(request, wanted, ResultAnswer)
    return answer if answer is not None else asyncio.run(_own_result(_home(request), wanted))


async def _own_calls(home: str, wanted: CallsRequest) -> CallList:
    kept = kept_calls(ResultFiles(home), wanted)
    if not wanted.past:
        return kept
    log = SqliteAudit(home)
    try:
        return await with_past(kept, log, wanted)
    finally:
        await log.aclose()


async def _own_result(home: str, wanted: ResultRequest) -> ResultAnswer:
    log = SqliteAudit(home)
    try:
        return await kept_result(ResultFiles(home), log, wanted)
    finally:
        await log.aclose()


def _home(request: CommandRequest) -> str:
    return places_from(dict(request.environ)).home
