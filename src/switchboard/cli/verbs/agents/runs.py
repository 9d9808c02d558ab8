"""`switchboard runs`: what agents do and have done."""

import contextlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Raw, Struct

from switchboard.cli.render import columns, hint
from switchboard.cli.report import DONE, FAILED, Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.asking import can_ask
from switchboard.cli.verbs.parts.board import IN_PROCESS, ask_board
from switchboard.cli.verbs.parts.dated import DatedRun, DatedRunEvent
from switchboard.cli.verbs.parts.runs.asked_runs import ask_runs
from switchboard.cli.verbs.parts.runs.run_lines import event_lines, run_lines
from switchboard.control.requests import (
    CallRequest,
    RunCancelRequest,
    RunEventsRequest,
    RunsRequest,
    RunSteerRequest,
)
from switchboard.control.run_desk import RunAnswer, RunList
from switchboard.control.tools import CallAnswer
from switchboard.core.text.stamps import stamped
from switchboard.runs.run import RunEvent
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word
from switchkit.platform.paths import true_path

_ACTIONS = ("list", "show", "follow", "cancel", "reply", "steer")
_TAKE_TEXT = frozenset({"reply", "steer"})
_LAST = 20
_LAST_NAMED = 50
# So long one question waits for the next line.
_WAIT_S = 10.0

USAGE = Usage(
    verb="runs",
    summary="Show, follow, cancel or go on with runs of agents.",
    words=(
        Word(name="ACTION", about="what to do", choices=_ACTIONS, optional=True),
        Word(name="ID", about="a run", optional=True, is_name=True),
        Word(name="TEXT", about="reply: the next task; steer: more input", optional=True),
    ),
    options=(
        Option(name="last", value="N", about=f"list: how many ({_LAST})"),
        IN_PROCESS,
    ),
    details=(
        "`list` and `show` need no daemon. `reply` starts a new run in the conversation of one\n"
        "that has ended; `steer` gives more input to one that works."
    ),
    examples=(
        "switchboard runs",
        "switchboard runs follow r-7k3m9xw2qd",
        "switchboard runs cancel r-7k3m9xw2qd",
        "switchboard runs reply r-7k3m9xw2qd 'Now the tests'",
    ),
)


class ListedRun(Struct, frozen=True, kw_only=True):
    """One line of the list."""

    id: str
    agent: str
    engine: str
    state: str
    task: str
    workspace: str
    created_at: str
    # Empty for one that goes on.
    ended_at: str = ""
    reason: str = ""
    doing: str = ""
    approval_id: str = ""


class RunsReport(Report, frozen=True, kw_only=True, tag="switchboard.runs/1"):
    """The latest runs, newest first."""

    runs: tuple[ListedRun, ...]

    def lines(self, style: Style) -> Iterator[str]:
        if self.runs:
            heads = ("ID", "STATE", "STARTED", "AGENT", "TASK", "DOING")
            rows = [
                (
                    *(each.id, each.state, _started(each.created_at), each.agent),
                    " ".join(each.task.split()),
                    each.doing or each.reason or "-",
                )
                for each in self.runs
            ]
            yield from columns(heads, rows, style, elastic=(3, 4, 5), spare=(5,))

    def notes(self, style: Style) -> Iterator[str]:
        if not self.runs:
            yield "no agent has been given a task yet"
        elif asking := next((each for each in self.runs if each.approval_id), None):
            yield hint(style, f"switchboard approvals show {asking.approval_id}")
        else:
            yield hint(style, f"switchboard runs show {self.runs[0].id}")


class RunReport(Report, frozen=True, kw_only=True, tag="switchboard.run/1"):
    """One run, whole."""

    run: DatedRun
    events: tuple[DatedRunEvent, ...] = ()

    def exit_code(self) -> int:
        return FAILED if self.run.state in {"failed", "cancelled"} else DONE

    def lines(self, style: Style) -> Iterator[str]:
        for event in self.events:
            yield from event_lines(event, style)
        if self.events:
            yield ""
        yield from run_lines(self.run, style)


class FollowedRunReport(Report, frozen=True, kw_only=True, tag="switchboard.run-ended/1"):
    """The end of a run that was followed."""

    one_of_many: ClassVar[bool] = True
    run: DatedRun

    def exit_code(self) -> int:
        return DONE if self.run.state == "completed" else FAILED

    def lines(self, style: Style) -> Iterator[str]:
        yield ""
        yield from run_lines(self.run, style)


class ChangedRunReport(Report, frozen=True, kw_only=True, tag="switchboard.runs-changed/1"):
    """A run after it was cancelled, or got more input."""

    run: DatedRun
    # Whether there was nothing left to cancel.
    had_ended: bool = False

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield f"{self.run.id} {'had ended already: ' if self.had_ended else ''}{self.run.state}"


class RunEventReport(Report, frozen=True, kw_only=True, tag="switchboard.run-event/1"):
    """One line of a transcript, when it is written."""

    one_of_many: ClassVar[bool] = True
    event: DatedRunEvent

    def lines(self, style: Style) -> Iterator[str]:
        yield from event_lines(self.event, style)


class RunReplyReport(Report, frozen=True, kw_only=True, tag="switchboard.runs-reply/1"):
    """What the agent answered to the next turn, or that it goes on."""

    is_error: bool
    text: str

    def exit_code(self) -> int:
        return FAILED if self.is_error else DONE

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield self.text


class _Answered(Struct):
    output: str = ""


class _Block(Struct):
    text: str = ""


class _Result(Struct, rename="camel"):
    content: tuple[_Block, ...] = ()
    is_error: bool = False


def run(request: CommandRequest) -> Report:
    arguments = request.arguments
    action, run_id, text = arguments.word(0) or "list", arguments.word(1), arguments.word(2)
    _check(action, run_id, text)
    match action:
        case "list":
            return _listed(request)
        case "show":
            return _whole(request, run_id)
        case "follow":
            return _follow(request, run_id)
        case "cancel":
            answer = ask_runs(request, RunCancelRequest(id=run_id), RunAnswer)
            return ChangedRunReport(run=DatedRun.of(answer.run), had_ended=answer.had_ended)
        case "steer":
            answer = ask_runs(request, RunSteerRequest(id=run_id, text=text), RunAnswer)
            return ChangedRunReport(run=DatedRun.of(answer.run))
        case _:
            return _reply(request, run_id, text)


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    answer = ask_runs(request, RunsRequest(last=_LAST_NAMED), RunList)
    return (each.id for each in answer.runs)


def _check(action: str, run_id: str, text: str) -> None:
    if action == "list" and run_id:
        raise UsageError("`list` takes no id", f"switchboard runs show {run_id}")
    if action != "list" and not run_id:
        raise UsageError(f"`{action}` needs the id of a run", "switchboard runs list")
    if (action in _TAKE_TEXT) != bool(text):
        more = " TEXT" if action in _TAKE_TEXT else ""
        needs = "needs a text" if action in _TAKE_TEXT else "takes no text"
        raise UsageError(f"`{action}` {needs}", f"switchboard runs {action} {run_id}{more}")


def _listed(request: CommandRequest) -> Report:
    last = request.arguments.one("last") or str(_LAST)
    if not last.isdigit():
        raise UsageError("`--last` must be a whole number")
    # Those of all workspaces, unless one is named.
    workspace = true_path(request.workspace) if request.workspace else ""
    answer = ask_runs(request, RunsRequest(last=int(last), workspace=workspace), RunList)
    return RunsReport(
        runs=tuple(
            ListedRun(
                id=each.id,
                agent=each.spec.agent,
                engine=each.spec.engine,
                state=each.state,
                task=each.spec.task,
                workspace=each.spec.workspace,
                created_at=stamped(each.created_at),
                ended_at=stamped(each.ended_at),
                reason=each.reason,
                doing=each.doing,
                approval_id=each.approval_id,
            )
            for each in answer.runs
        )
    )


def _started(created_at: str) -> str:
    """The time for one of today, else the day."""
    at = datetime.fromisoformat(created_at).astimezone()
    return f"{at:%H:%M}" if at.date() == datetime.now(at.tzinfo).date() else f"{at:%m-%d}"


def _whole(request: CommandRequest, run_id: str) -> Report:
    events: list[RunEvent] = []
    while True:
        after = events[-1].number if events else 0
        answer = ask_runs(request, RunEventsRequest(id=run_id, after=after), RunAnswer)
        events += answer.events
        if not answer.has_more:
            return RunReport(
                run=DatedRun.of(answer.run), events=tuple(map(DatedRunEvent.of, events))
            )


def _follow(request: CommandRequest, run_id: str) -> Report:
    after = 0
    while True:
        wanted = RunEventsRequest(id=run_id, after=after, wait_s=_WAIT_S)
        answer = ask_runs(request, wanted, RunAnswer)
        for event in answer.events:
            request.show(RunEventReport(event=DatedRunEvent.of(event)))
            after = event.number
        if answer.run.has_ended and not answer.events:
            report = FollowedRunReport(run=DatedRun.of(answer.run))
            request.show(report)
            return Silent(code=report.exit_code())


def _reply(request: CommandRequest, run_id: str, text: str) -> Report:
    """The next turn, as a call like any other: it passes the same gates."""
    wanted = CallRequest(
        name="run_reply",
        arguments=Raw(msgspec.json.encode({"run_id": run_id, "task": text})),
        asks=can_ask(),
    )
    answer = ask_board(request, wanted, CallAnswer)
    result = msgspec.json.decode(answer.result, type=_Result)
    said = "\n".join(block.text for block in result.content)
    # A refusal is told in plain words.
    with contextlib.suppress(msgspec.MsgspecError):
        said = msgspec.json.decode(said, type=_Answered).output or said
    return RunReplyReport(is_error=result.is_error, text=said)
