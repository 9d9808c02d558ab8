"""A task for an agent: what it does is shown meanwhile, and Ctrl-C ends it."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct, field

from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.asking import can_ask
from switchboard.cli.verbs.parts.board import ask_board
from switchboard.cli.verbs.parts.runs.asked_runs import ask_runs
from switchboard.control.client import ENDED
from switchboard.control.requests import CallRequest, RunCancelRequest
from switchboard.control.run_desk import RunAnswer
from switchboard.control.tools import CallAnswer
from switchboard.core.faults import Fault, FaultCode
from switchkit.cli.style import Style


class AgentRunReport(Report, frozen=True, kw_only=True, tag="switchboard.agents-run/1"):
    """What an agent answered."""

    tool: str
    ok: bool
    output: str
    call_id: str = ""
    # Empty where the call was refused before there was a run.
    run_id: str = ""

    def exit_code(self) -> int:
        return DONE if self.ok else FAILED

    def lines(self, style: Style) -> Iterator[str]:
        del style
        if self.ok:
            yield self.output

    def notes(self, style: Style) -> Iterator[str]:
        if not self.ok:
            yield f"{style.red('error:')} {self.output}"


class _Answer(Struct):
    ok: bool
    output: str


class _Text(Struct):
    text: str = ""


class _Run(Struct):
    id: str = ""


class _Meta(Struct):
    run: _Run = field(name="switchboard/run", default_factory=_Run)


class _Result(Struct):
    content: tuple[_Text, ...] = ()
    meta: _Meta = field(name="_meta", default_factory=_Meta)


def run_agent(request: CommandRequest, tool: str, task: str, cwd: str) -> AgentRunReport:
    """Have an agent do a task, and give its answer. Raises a fault."""
    arguments = Raw(msgspec.json.encode({"task": task, "cwd": cwd}))
    wanted = CallRequest(name=tool, subtool="", arguments=arguments, asks=can_ask())
    seen: list[str] = []
    try:
        answer = ask_board(
            request,
            wanted,
            CallAnswer,
            on_step=lambda step: seen.extend(filter(None, (step.run_id,))),
        )
    except KeyboardInterrupt:
        if not seen:
            # It has no name yet; the end of the connection ends it.
            raise
        raise _stopped(request, seen[-1]) from None
    except Fault as fault:
        if fault.reason != ENDED:
            raise
        # What becomes of the run is known where runs are kept.
        fix = f"switchboard runs show {seen[-1]}" if seen else "switchboard runs"
        details = {"run_id": seen[-1]} if seen else {}
        raise Fault(fault.code, ENDED, fault.message, hint=fix, details=details) from fault
    result = msgspec.json.decode(answer.result, type=_Result)
    said = msgspec.json.decode("".join(each.text for each in result.content), type=_Answer)
    return AgentRunReport(
        tool=tool,
        ok=said.ok,
        output=said.output,
        call_id=answer.call_id,
        run_id=result.meta.run.id,
    )


def _stopped(request: CommandRequest, run_id: str) -> Fault:
    """End a run, and say what became of it."""
    request.talk.progress("cancelling the run …")
    run = ask_runs(request, RunCancelRequest(id=run_id), RunAnswer).run
    became = {
        "completed": "had its answer already",
        "failed": "had failed already" if run.reason != "interrupted" else "was interrupted",
        "cancelled": "was cancelled",
    }.get(run.state, "is about to be cancelled")
    return Fault(
        FaultCode.CANCELLED,
        "run-cancelled" if run.state == "cancelled" else "interrupted",
        f"run {run_id} {became}",
        hint=f"switchboard runs show {run_id}",
        details={"run_id": run_id},
    )
