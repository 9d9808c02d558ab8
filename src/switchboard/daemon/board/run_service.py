"""The runs of a home as one process has them."""

from switchboard.approvals.store.owners import ProcessOwners
from switchboard.core.ports import Events
from switchboard.runs.limits import RunLimits
from switchboard.runs.local_engine import LocalEngine
from switchboard.runs.service import RunService
from switchboard.runs.store.sqlite import SqliteRuns


def open_runs(home: str, events: Events, limits: RunLimits) -> RunService:
    """The service of this process. Touches no file before the first run."""
    store = SqliteRuns(home, owners=ProcessOwners())
    return RunService(
        store, lambda execute: LocalEngine(execute, limits), events=events, limits=limits
    )
