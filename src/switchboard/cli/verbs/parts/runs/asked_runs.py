"""Questions about runs: to the daemon, to the runs on disk where there is none, or to a team."""

import asyncio
from typing import TYPE_CHECKING, TypeVar

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import DATABASE, daemon_answer
from switchboard.control.requests import RunQuestion
from switchboard.control.run_desk import RunAnswer, RunList, run_answer
from switchboard.core.bus import EventBus
from switchboard.daemon.board.run_service import open_runs
from switchboard.ipc.paths import places_from
from switchboard.runs.limits import RunLimits

if TYPE_CHECKING:
    from switchboard.runs.service import RunService
    from switchboard.runs.team.gateway_runs import GatewayRuns

T = TypeVar("T", RunList, RunAnswer)


def ask_runs(request: CommandRequest, wanted: RunQuestion, kind: type[T]) -> T:
    """The answer of whoever has the runs. Raises a fault."""
    answer = daemon_answer(request, wanted, kind)
    return answer if answer is not None else asyncio.run(_own(request, wanted, kind))


async def _own(request: CommandRequest, wanted: RunQuestion, kind: type[T]) -> T:
    """What the runs themselves say, where there is no daemon to ask."""
    runs = _opened(request)
    try:
        answer = await run_answer(runs, wanted)
    finally:
        await runs.aclose()
    assert isinstance(answer, kind)
    return answer


def _opened(request: CommandRequest) -> "RunService | GatewayRuns":
    if database := request.environ.get(DATABASE):
        # Few have a team, and the driver of a database takes a while to load.
        from switchboard.daemon.team.desk import TeamRuns  # noqa: PLC0415

        return TeamRuns(database)
    return open_runs(places_from(dict(request.environ)).home, EventBus(), RunLimits())
