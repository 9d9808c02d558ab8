"""Runs as tasks: what a client is told, and may do, that asks for the answer of its call later."""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Raw, Struct

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch
from switchboard.core.calls.task import Task, TaskStatus
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.sessions import Session
from switchboard.providers.agents.calls.deliveries import with_receipt
from switchboard.providers.agents.calls.waiters import Waiters
from switchboard.providers.agents.run_tools.own_runs import own_task
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run

_PROVIDER = "agents"


def _anything(_: Raw) -> None:
    """The surface has looked at what is given."""


def _act(method: str, effects: Effects) -> ToolSpec:
    return ToolSpec(
        name=method, provider=_PROVIDER, effects=effects, check=_anything, is_tool=False
    )


TASK_ACTS: Final = {
    "tasks/cancel": _act(
        "tasks/cancel",
        Effects(read_only=False, destructive=False, idempotent=True, open_world=False),
    ),
    # It may let an agent do what it asked for.
    "tasks/update": _act("tasks/update", Effects(read_only=False, idempotent=True)),
}


class _Given(Struct, rename="camel"):
    task_id: str
    input_responses: dict[str, Raw] = {}


class RunTasks:
    """The runs of one workspace, each for the client that started it. It has the id of its run."""

    def __init__(
        self,
        runs: Callable[[], Runs],
        waiters: Waiters,
        workspace: str,
        *,
        kept_s: float,
        say: Callable[[Run], Outcome],
    ) -> None:
        self._runs = runs
        self._waiters = waiters
        self._inputs = waiters.inputs
        self._workspace = workspace
        # How long a run is kept after its end.
        self._kept_s = kept_s
        # What the call would have answered.
        self._say = say

    async def task(self, run_id: str, session: Session) -> Task:
        """A run as it is now, with its answer once there is one. Raises a `not_found` fault."""
        run = await self._own(run_id, session)
        inputs = {} if run.has_ended else self._inputs.open(run.id)
        status = _status(run, asks=bool(inputs))
        return Task(
            id=run.id,
            status=status,
            message=_message(run),
            created_at=run.created_at,
            updated_at=run.ended_at or run.started_at or run.created_at,
            ttl_s=max(run.ended_at - run.created_at, 0.0) + self._kept_s,
            inputs=inputs,
            outcome=self._answer(run) if status == "completed" else None,
        )

    def _answer(self, run: Run) -> Outcome:
        return with_receipt(self._say(run), run, self._runs, self._waiters.tasks)

    async def follow(
        self, run_id: str, session: Session, tell: Callable[[], None]
    ) -> Callable[[], None]:
        """Tell of each change. Raises a `not_found` fault."""
        run = await self._own(run_id, session)
        ends = (
            self._runs().follow(run.id, lambda _: tell()),
            self._inputs.follow(run.id, tell),
        )

        def forget() -> None:
            for end in ends:
                end()

        return forget

    # Acts

    async def launch(self, call: Call) -> Launch | None:
        """No act starts anything: what a run asks for was asked about already."""
        del call

    async def invoke(self, call: Call) -> Outcome:
        """Cancel a task, or answer what it asks. Raises a `not_found` fault."""
        given = msgspec.json.decode(call.arguments, type=_Given)
        run = await self._own(given.task_id, call.session)
        if call.tool.name == "tasks/update":
            self._inputs.answer(run.id, given.input_responses)
        elif not run.has_ended:
            await self._runs().cancel(run.id)
        return Outcome()

    async def _own(self, run_id: str, session: Session) -> Run:
        return await own_task(self._runs(), self._workspace, run_id, session)


def _status(run: Run, *, asks: bool) -> TaskStatus:
    if run.state == "cancelled":
        return "cancelled"
    if asks:
        return "input_required"
    # A failed run has an answer that says so. A failed task would be an error of the protocol.
    return "completed" if run.has_ended else "working"


def _message(run: Run) -> str:
    if run.state == "asking" and run.approval_id:
        return f"It waits for a person: switchboard approvals show {run.approval_id}"
    if run.state == "queued":
        return "It waits for its turn."
    return run.output if run.state == "cancelled" else run.doing
