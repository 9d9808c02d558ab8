"""The tools that lead to runs. A session sees those of its own workspace and person alone."""

from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch, task_wish
from switchboard.core.faults import Fault, FaultCode
from switchboard.providers.agents.calls.agent_tools import AgentGround
from switchboard.providers.agents.calls.answers import going_on, report
from switchboard.providers.agents.calls.request_keys import asked_by
from switchboard.providers.agents.calls.run_calls import RunCalls
from switchboard.providers.agents.run_tools.own_runs import own_run
from switchboard.runs.conversations import begun_with, going_on_with
from switchboard.runs.event_words import told_lines
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run, RunSpec

RUN_TOOLS = frozenset(
    {"run_wait", "run_status", "run_output", "run_cancel", "run_steer", "run_reply"}
)
# What one answer of `run_output` holds at most.
_MOST_LINES = 200


class _Given(Struct):
    run_id: str
    timeout_s: float | None = None
    after: int = 0
    text: str = ""
    task: str = ""


class RunTools:
    """What a client may do with a run whose id it was told."""

    def __init__(self, runs: Callable[[], Runs], calls: RunCalls, ground: AgentGround) -> None:
        self._runs = runs
        self._calls = calls
        self._ground = ground

    async def launch(self, call: Call) -> Launch | None:
        """Only more work for an agent runs something; that is asked about as its start was."""
        if call.tool.name not in {"run_steer", "run_reply"}:
            return None
        run = await self._run(call)
        await self._ground.check_place(call.session, run.spec)
        return Launch(
            tool=call.tool,
            server=f"agent {run.spec.agent}",
            fingerprint=run.spec.fingerprint,
            runs=f"run {run.id} of {run.spec.agent}, on {run.spec.engine}",
            cwd=run.spec.cwd,
            is_foreign=False,
            sandbox=f"as run {run.id} had it",
            side_effects=("filesystem-read", "filesystem-write", "network"),
            wish=task_wish(
                f"Agent {run.spec.agent}",
                f"go on with run {run.id}",
                text="task" if call.tool.name == "run_reply" else "text",
            ),
        )

    async def invoke(self, call: Call) -> Outcome:
        """Do it. Raises a fault."""
        given = _given(call)
        run = await self._run(call)
        match call.tool.name:
            case "run_wait":
                return await self._calls.wait(call, run, within_s=given.timeout_s)
            case "run_status":
                return report(run, _status(run))
            case "run_output":
                return await self._output(run, given.after)
            case "run_cancel":
                return await self._cancel(run)
            case "run_steer":
                run = await self._runs().steer(run.id, given.text)
                return report(run, f"Run {run.id} was told.")
            case _:
                return await self._reply(call, run, given.task)

    async def _run(self, call: Call) -> Run:
        run_id = _given(call).run_id
        return await own_run(self._runs(), self._ground.workspace, run_id, call.session)

    async def _output(self, run: Run, after: int) -> Outcome:
        events = await self._runs().transcript(run.id, after=after)
        shown = events[:_MOST_LINES]
        text = "\n".join(told_lines(shown))
        next_after = shown[-1].number if shown else after
        return report(run, text, after=next_after, more=len(events) > len(shown))

    async def _cancel(self, run: Run) -> Outcome:
        if run.has_ended:
            return report(run, f"Run {run.id} had ended already: {run.state}.")
        run = await self._runs().cancel(run.id)
        if not run.has_ended:
            return report(run, f"Run {run.id} was told to end, and has not yet: {run.state}.")
        if run.state != "cancelled":
            return report(run, f"Run {run.id} ended before it could be cancelled: {run.state}.")
        return report(run, f"Run {run.id} was cancelled.")

    async def _reply(self, call: Call, run: Run, task: str) -> Outcome:
        if not run.has_ended:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "run-not-ended",
                f"run {run.id} still works",
                hint="tell it more with `run_steer`, or wait for it with `run_wait`",
            )
        if not run.thread_id and not run.spec.resumes:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "run-without-conversation",
                f"run {run.id} ended before its conversation began",
                hint="give the task to the agent again",
            )
        spec = replace(
            await going_on_with(self._runs(), run, task),
            depth=call.session.depth,
            root=self._ground.root_for(call.session) or run.spec.root,
        )
        await self._check_alone(spec)
        return await self._calls.start(call, asked_by(call, spec), may_be_task=True)

    async def _check_alone(self, spec: RunSpec) -> None:
        """Two processes must not go on with one conversation at the same time."""
        for other in await self._runs().unfinished(workspace=spec.workspace):
            if await begun_with(self._runs(), other) == spec.conversation:
                raise Fault(
                    FaultCode.FAILED_PRECONDITION,
                    "run-goes-on",
                    f"run {other.id} goes on with this conversation already",
                    hint="wait for it with `run_wait`, and reply to that one",
                )


def _given(call: Call) -> _Given:
    return msgspec.json.decode(call.arguments, type=_Given)


def _status(run: Run) -> str:
    if not run.has_ended:
        return going_on(run)
    return f"Run {run.id} of {run.spec.agent} has ended: {run.state}."
