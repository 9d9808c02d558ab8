"""Questions about runs: to the daemon, or to the runs on disk where there is none."""

import asyncio
from typing import TypeVar

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.control.requests import RunQuestion
from switchboard.control.run_desk import RunAnswer, RunList, run_answer
from switchboard.core.bus import EventBus
from switchboard.daemon.board.run_service import open_runs
from switchboard.ipc.paths import places_from
from switchboard.runs.limits import RunLimits

T = TypeVar("T", RunList, RunAnswer)


def ask_runs(request: CommandRequest, wanted: RunQuestion, kind: type[T]) -> T:
    """The answer of whoever has the runs. Raises a fault."""
    answer = daemon_answer(request, wanted, kind)
    return answer if answer is not None else asyncio.run(_own(request, wanted, kind))


async def _own(request: CommandRequest, wanted: RunQuestion, kind: type[T]) -> T:
    """What the runs on disk say, where there is no daemon to ask."""
    runs = open_runs(places_from(dict(request.environ)).home, EventBus(), RunLimits())
    try:
        answer = await run_answer(runs, wanted)
    finally:
        await runs.aclose()
    assert isinstance(answer, kind)
    return answer
