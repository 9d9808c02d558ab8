"""The runs of a home, or of a team, as one process has them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from switchboard.approvals.store.owners import ProcessOwners
from switchboard.core.events import RunEngineFailed
from switchboard.runs.durable_engine import DurableEngine
from switchboard.runs.service import RunService
from switchboard.runs.store.sqlite import SqliteRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from switchboard.core.ports import Events
    from switchboard.daemon.team.membership import Team
    from switchboard.runs.limits import RunLimits
    from switchboard.runs.team.gateway_runs import GatewayRuns
    from switchboard.settings.sections import Settings


def board_runs(settings: Settings, events: Events, team: Team | None) -> RunService | GatewayRuns:
    """Those of a board in a process of its own. Touches nothing before somebody asks for a run."""
    if team is not None:
        return team.runs(settings, events)
    return open_runs(settings.home, events, settings.runs)


def open_runs(home: str, events: Events, limits: RunLimits) -> RunService:
    """The service of this process. Touches no file before somebody asks for a run."""
    owners = ProcessOwners()
    tell = complaints(events)
    return RunService(
        SqliteRuns(home, owners=owners),
        lambda execute: DurableEngine(home, execute, limits, owners=owners, tell=tell),
        events=events,
        limits=limits,
    )


def complaints(events: Events) -> Callable[[str], None]:
    """What is told of the engine of runs, on any thread."""
    loop = asyncio.get_running_loop()

    def tell(message: str) -> None:
        # Maybe when everything here has ended.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(events.emit, RunEngineFailed(message=message))

    return tell
