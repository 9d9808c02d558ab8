"""A stop for everything that goes on: calls, runs of agents, questions, and servers if wanted.

It asks no server for anything: what runs is ended on our side, and its server is told.
"""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress

from switchboard.children.child import Child
from switchboard.control.answers import StoppedCalls
from switchboard.control.requests import StopCallsRequest
from switchboard.core.audit import new_record
from switchboard.core.faults import Fault
from switchboard.core.questions import Answer
from switchboard.core.stores import ApprovalStore, AuditStore
from switchboard.daemon.sessions.child_status import Whose
from switchboard.receipts.book import CallBook
from switchboard.runs.service import RunService

# Who decided when every call was stopped.
_BY = "stop"
_WHY = "its user has stopped every call"
# A call that is cancelled ends at once; one that writes its end to a slow disk takes a moment.
_ENDS_S, _LOOK_S = 5.0, 0.01
_COUNTS_S = 0.25


async def stop_calls(
    request: StopCallsRequest,
    *,
    calls: CallBook,
    runs: RunService | None,
    approvals: ApprovalStore,
    audit: AuditStore,
    children: Iterable[tuple[Child, Whose]],
) -> StoppedCalls:
    """End all of it, side by side, and say how much that was."""
    # Counted first: a call that is stopped takes its question back by itself.
    questions = await _waiting(approvals)
    under_way = tuple(calls.under_way.values())
    stopped = sum(call.clock.stop() for call in under_way)
    ended_runs, _ = await asyncio.gather(_end_runs(runs), _refuse(approvals))
    running = [child for child, _ in children if child.is_running] if request.servers else []
    await asyncio.gather(
        *(child.connection.stop(_WHY) for child in running), return_exceptions=True
    )
    until = time.monotonic() + _ENDS_S
    while any(call.id in calls.under_way for call in under_way) and time.monotonic() < until:  # noqa: ASYNC110 - each ends by itself
        await asyncio.sleep(_LOOK_S)
    found = StoppedCalls(calls=stopped, runs=ended_runs, questions=questions, servers=len(running))
    audit.post(
        new_record(
            "calls.stopped",
            note=f"{found.calls} calls, {found.runs} runs, {found.questions} questions,"
            f" {found.servers} servers",
        )
    )
    return found


async def _end_runs(runs: RunService | None) -> int:
    under_way = runs.under_way() if runs is not None else []
    if runs is not None:
        await asyncio.gather(*(runs.cancel(run.id) for run in under_way), return_exceptions=True)
    return len(under_way)


async def _waiting(approvals: ApprovalStore) -> int:
    """How many questions wait, as far as that is told at once: nothing is stopped before."""
    try:
        async with asyncio.timeout(_COUNTS_S):
            return len(await approvals.waiting())
    except (Fault, TimeoutError):
        return 0


async def _refuse(approvals: ApprovalStore) -> None:
    """Say no to whatever waits, also to what other processes ask."""
    answer = Answer(verdict="denied", by=_BY, at=time.time())
    # What cannot be read approves nothing either, and the rest has to stop.
    with suppress(Fault):
        for each in await approvals.waiting():
            await approvals.decide(each.question.id, answer)
