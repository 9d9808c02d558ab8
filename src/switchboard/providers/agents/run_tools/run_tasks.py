"""Runs as tasks: what a client is told that asks for the answer of its call later."""

from collections.abc import Callable

from switchboard.core.task import Task, TaskStatus
from switchboard.providers.agents.calls.answers import answer
from switchboard.providers.agents.run_tools.own_runs import own_run
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run


class RunTasks:
    """The runs of one workspace. A task has the id of its run."""

    def __init__(self, runs: Callable[[], Runs], workspace: str, *, kept_s: float) -> None:
        self._runs = runs
        self._workspace = workspace
        # How long a run is kept after its end.
        self._kept_s = kept_s

    async def task(self, run_id: str) -> Task:
        """A run as it is now; its end counts as delivered. Raises a `not_found` fault."""
        run = await own_run(self._runs(), self._workspace, run_id)
        if run.has_ended and not run.is_delivered:
            await self._runs().delivered(run.id)
        return Task(
            id=run.id,
            status=_status(run),
            message=_message(run),
            created_at=run.created_at,
            updated_at=run.ended_at or run.started_at or run.created_at,
            ttl_s=max(run.ended_at - run.created_at, 0.0) + self._kept_s,
            outcome=answer(run) if _status(run) == "completed" else None,
        )

    async def cancel(self, run_id: str) -> None:
        """End a run, unless it has ended. Raises a `not_found` fault."""
        run = await own_run(self._runs(), self._workspace, run_id)
        if not run.has_ended:
            await self._runs().cancel(run.id)


def _status(run: Run) -> TaskStatus:
    if run.state == "cancelled":
        return "cancelled"
    # A failed run has an answer that says so. A failed task would be an error of the protocol.
    return "completed" if run.has_ended else "working"


def _message(run: Run) -> str:
    if run.state == "asking" and run.approval_id:
        return f"It waits for a person: switchboard approvals show {run.approval_id}"
    if run.state == "queued":
        return "It waits for its turn."
    return run.output if run.state == "cancelled" else run.doing
