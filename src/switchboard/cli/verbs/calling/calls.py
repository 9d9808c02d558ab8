"""`switchboard calls`: what runs, what ended lately, and whether anybody has the answers."""

import select
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from switchboard.cli.moments import time_of_day, took
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.calls.asked_calls import ask_calls
from switchboard.cli.verbs.parts.trusting.consent import check_reader
from switchboard.control.call_desk import CallStatus
from switchboard.control.past_calls import UNKNOWN
from switchboard.control.requests import CallsRequest
from switchboard.core.catalog.addresses import address_of
from switchboard.core.faults import FaultCode
from switchboard.core.text.stamps import stamped
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError
from switchkit.platform.paths import true_path

_LAST = 20
# How soon a follower sees that a call has begun or ended.
_LOOK_S = 0.2

USAGE = Usage(
    verb="calls",
    summary="Show the calls that run, and those that ended lately, with where their time went.",
    options=(
        Option(name="follow", short="-f", about="stay, and show each call that begins or ends"),
        Option(name="last", value="N", about=f"how many ({_LAST})"),
        Option(name="session", value="ID", about="only this session"),
        Option(name="tool", value="NAME", about="only this tool or suite; `*` stands for anything"),
        Option(name="running", about="only those that have not ended"),
        Option(name="undelivered", about="only those whose answer nobody is known to have"),
        Option(name="own", about="also those by which commands of ours asked what servers have"),
    ),
    details=(
        "QUEUE is what passed before the work began, HUMAN what persons took who were asked.\n"
        "ANSWER says how far it got: `delivered` is read by the client, `sent` not seen to be,\n"
        "`kept` waits for `switchboard result ID` and for the same call sent again.\n"
        "Calls of before this daemon are read from the audit log, which a guarded surface writes;\n"
        "`unknown` is one whose daemon was ended before it was done, `not run` one whose daemon\n"
        "was ended while a person was asked.\n"
        "Calls of all workspaces are shown, unless `--workspace` names one. It is refused where a\n"
        "client or an agent of Switchboard has started it."
    ),
    examples=(
        "switchboard calls --undelivered",
        "switchboard calls -f --tool 'git*'",
        "switchboard calls --running --json",
    ),
)


class ListedCall(Struct, frozen=True, kw_only=True):
    """One call."""

    id: str
    session: str
    client: str = ""
    workspace: str = ""
    tool: str
    suite: str = ""
    came_at: str
    # Empty for one that goes on.
    ended_at: str = ""
    # `queued`, `waiting`, `working`; then `ok`, `error`, or the code of a fault; `unknown` where
    # the process that ran it was ended meanwhile, `not run` where a person was being asked.
    state: str
    reason: str = ""
    # Where its time went: before the work, the work, persons who were asked.
    queue_s: float = 0.0
    work_s: float = 0.0
    human_s: float = 0.0
    # `delivered`, `sent`, `kept`, `lost` or `none`; empty while there is none.
    answer: str = ""
    # `cancelled`, `timed-out` or `left`, where the client waits no more.
    given_up: str = ""
    # The call whose answer it was given.
    repeats: str = ""

    @classmethod
    def of(cls, call: CallStatus) -> "ListedCall":
        fields: dict[str, Any] = msgspec.structs.asdict(call)
        fields["came_at"], fields["ended_at"] = stamped(call.came_at), stamped(call.ended_at)
        return cls(**fields)

    @property
    def name(self) -> str:
        """As questions and `usage` name it."""
        return address_of(self.suite, self.tool) if self.suite else self.tool


class CallsReport(Report, frozen=True, kw_only=True, tag="switchboard.calls/1"):
    """The latest calls, the oldest first."""

    calls: tuple[ListedCall, ...]

    def lines(self, style: Style) -> Iterator[str]:
        if self.calls:
            yield from _rows(self.calls, style)

    def notes(self, style: Style) -> Iterator[str]:
        if not self.calls:
            yield "no call matches"
        kept = [each for each in self.calls if each.answer == "kept"]
        if kept:
            has = "has an answer" if len(kept) == 1 else "have answers"
            yield f"{counted(len(kept), 'call')} {has} that nobody got"
            yield hint(style, f"switchboard result {kept[-1].id}")
        unknown = [each for each in self.calls if each.state == UNKNOWN]
        if unknown:
            of = "its daemon" if len(unknown) == 1 else "their daemon"
            yield (
                f"{counted(len(unknown), 'call')} began, and {of} was ended before anybody could"
                " write down how it went: there may or may not have been an effect"
            )
            yield hint(style, f"switchboard audit show {unknown[-1].id}")


class CallStepReport(Report, frozen=True, kw_only=True, tag="switchboard.call-step/1"):
    """One call, when it begins or ends."""

    one_of_many: ClassVar[bool] = True
    call: ListedCall

    def lines(self, style: Style) -> Iterator[str]:
        call = self.call
        words = [style.dim(_shown_time(call.ended_at or call.came_at)), style.bold(call.name)]
        words += [_marked(call, style, _state(call)), call.id]
        if call.ended_at:
            spans = (("queue", call.queue_s), ("work", call.work_s), ("human", call.human_s))
            words += [f"{name} {took(span)}" for name, span in spans if took(span) != "-"]
        yield " ".join(filter(None, (*words, call.answer)))


def run(request: CommandRequest) -> Report:
    arguments = request.arguments
    last = arguments.one("last") or str(_LAST)
    if not last.isdigit():
        raise UsageError("`--last` must be a whole number")
    wanted = CallsRequest(
        session=arguments.one("session") or "",
        workspace=true_path(request.workspace) if request.workspace else "",
        tool=arguments.one("tool") or "",
        running=arguments.has("running"),
        undelivered=arguments.has("undelivered"),
        own=arguments.has("own"),
        past=not arguments.has("follow"),
        last=int(last),
    )
    check_reader(request)
    if arguments.has("follow"):
        _follow(request, wanted)
    found = ask_calls(request, wanted)
    return CallsReport(calls=tuple(map(ListedCall.of, found.calls)))


def _follow(request: CommandRequest, wanted: CallsRequest) -> None:
    """Show each call that begins or ends, until somebody stops us."""
    known: dict[str, bool] | None = None
    while True:
        found = ask_calls(request, msgspec.structs.replace(wanted, last=0)).calls
        news = found[-wanted.last :] if known is None else _news(found, known)
        for call in news:
            request.show(CallStepReport(call=ListedCall.of(call)))
        known = {each.id: each.has_ended for each in found}
        # The daemon tells of events, and not of what an answer came to.
        select.select([], [], [], _LOOK_S)


def _news(calls: Iterable[CallStatus], known: Mapping[str, bool]) -> Iterable[CallStatus]:
    """Those that have begun or ended since."""
    return (each for each in calls if known.get(each.id) is not each.has_ended)


def _rows(calls: Sequence[ListedCall], style: Style) -> Iterator[str]:
    heads = ("ID", "CAME", "CLIENT", "TOOL", "STATE", "QUEUE", "WORK", "HUMAN", "ANSWER")
    rows = [
        (
            *(each.id, _shown_time(each.came_at), each.client or "-", each.name),
            _state(each),
            *(took(each.queue_s), took(each.work_s), took(each.human_s)),
            _answer(each),
        )
        for each in calls
    ]

    def painted(row: int, at: int, cell: str) -> str:
        return _marked(calls[row], style, cell) if heads[at] == "STATE" else cell

    # The subtool is at the end of a name, and says more than the suite before it.
    yield from columns(
        heads,
        rows,
        style,
        right=(5, 6, 7),
        elastic=(2, 3, 8),
        spare=(2, 5, 7),
        ends=(3,),
        paint=painted,
    )


def _state(call: ListedCall) -> str:
    """How it stands, or why it failed where the code says nothing of that."""
    return call.reason if call.state == FaultCode.INTERNAL and call.reason else call.state


def _shown_time(stamp: str) -> str:
    return time_of_day(datetime.fromisoformat(stamp).timestamp())


def _marked(call: ListedCall, style: Style, state: str) -> str:
    """Its state, in a colour where it ended badly."""
    is_well = call.state == "ok" or (not call.ended_at and call.state != UNKNOWN)
    return state if is_well else style.red(state)


def _answer(call: ListedCall) -> str:
    words = [call.answer or "-"]
    if call.given_up:
        words.append(f"({call.given_up})")
    if call.repeats:
        words.append(f"of {call.repeats}")
    return " ".join(words)
