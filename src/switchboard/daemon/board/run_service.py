"""The runs of a home as one process has them."""

import asyncio
import contextlib

from switchboard.approvals.store.owners import ProcessOwners
from switchboard.core.events import RunEngineFailed
from switchboard.core.ports import Events
from switchboard.runs.durable_engine import DurableEngine
from switchboard.runs.limits import RunLimits
from switchboard.runs.service import RunService
from switchboard.runs.store.sqlite import SqliteRuns


def open_runs(home: str, events: Events, limits: RunLimits) -> RunService:
    """The service of this process. Touches no file before somebody asks for a run."""
    owners = ProcessOwners()
    loop = asyncio.get_running_loop()

    def tell(message: str) -> None:
        # It comes from another thread, maybe when everything here has ended.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(events.emit, RunEngineFailed(message=message))

    return RunService(
        SqliteRuns(home, owners=owners),
        lambda execute: DurableEngine(home, execute, limits, owners=owners, tell=tell),
        events=events,
        limits=limits,
    )
