"""Running one worker of a team until it is asked to stop, or was out of reach for too long."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence

from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.board.reload import Load, serving
from switchboard.daemon.metrics.metrics_port import read_place, showing_metrics
from switchboard.daemon.team.asked import Asked
from switchboard.daemon.team.membership import team_keys
from switchboard.daemon.team.worker import LAPSED_CODE, TeamWorker
from switchboard.postgres.address import read_address
from switchboard.postgres.agreed_lease import VARIABLE as LEASE_VARIABLE
from switchboard.runs.team.worker_runs import WorkerRuns
from switchboard.settings.sections import Settings


async def work_for_team(
    settings: Settings,
    environ: Mapping[str, str],
    database: str,
    *,
    queues: Sequence[str],
    # At once; 0 for what the configuration says.
    max_runs: int = 0,
    # How long runs may take to end by themselves once it is to stop.
    drain_s: float = 600.0,
    # Where Prometheus asks; empty for nowhere.
    metrics: str = "",
    ready: Callable[[str, tuple[str, ...]], None] | None = None,
    load: Load | None = None,
) -> int:
    """Work until a signal comes; a second one ends what is under way. Raises a fault at first."""
    address, keys = read_address(database), team_keys(environ)
    place = read_place(metrics, environ)
    asked = Asked()
    loop = asyncio.get_running_loop()
    team = await asyncio.to_thread(
        lambda: TeamWorker(
            address,
            keys,
            name=f"{socket.gethostname()}/worker",
            queues=queues,
            max_runs=max_runs,
            loop=loop,
            lease=environ.get(LEASE_VARIABLE, ""),
        )
    )
    try:
        async with (
            serving(settings, environ, load, team=team) as runtime,
            showing_metrics(place, team, runtime),
        ):
            runtime.warm()
            if team.working is None:
                raise Fault(
                    FaultCode.FAILED_PRECONDITION,
                    "worker-without-agents",
                    "there are no agents here, so there is nothing that this worker could do",
                    hint="switchboard agents list",
                )
            taking = asyncio.ensure_future(team.working.serve())
            if ready is not None:
                ready(team.presence.id, team.queues)
            try:
                await asyncio.wait({taking, asked.to_stop}, return_when=asyncio.FIRST_COMPLETED)
                if taking.done():
                    taking.result()
                else:
                    await _drain(team.working, asked, drain_s)
            finally:
                taking.cancel()
    finally:
        await asyncio.to_thread(team.close)
    return LAPSED_CODE if team.presence.is_lapsed else 0


async def _drain(runs: WorkerRuns, asked: Asked, drain_s: float) -> None:
    """Let what is under way end; not for ever, and not if somebody asks twice."""
    draining = asyncio.ensure_future(runs.drain())
    await asyncio.wait(
        {draining, asked.to_hurry}, timeout=drain_s, return_when=asyncio.FIRST_COMPLETED
    )
    draining.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await draining
