"""`switchboard approvals`: answer what clients want to do, and look at tools that have changed."""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from switchboard.approvals.approver import Approver
from switchboard.approvals.differences import held_difference
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.audit.store import SqliteAudit
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.cli.verbs.parts.dated import DatedAnswer, DatedHeld, DatedQuestion
from switchboard.cli.verbs.parts.question_watch import QuestionWatch, Waiting
from switchboard.cli.verbs.parts.questions import change_lines, question_lines
from switchboard.control.answers import Decision, WaitingApprovals
from switchboard.control.decisions import Decisions
from switchboard.control.requests import ApprovalsRequest, DecideRequest
from switchboard.core.audit import stamped
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.cleaning import written_out
from switchboard.core.questions import Extent, Question
from switchboard.ipc.paths import places_from
from switchkit.cli.style import Style, is_terminal
from switchkit.cli.typed import ask_at_terminal, says_yes
from switchkit.cli.usage import Option, Usage, UsageError, Word

T = TypeVar("T")

_ACTIONS = ("list", "show", "approve", "deny", "watch")
_NEED_ID = frozenset({"show", "approve", "deny"})
# What can be typed while watching.
_FOR_A_CALL = {"y": "y: this call", "s": "s: every call of this session", "n": "n: no"}
_FOR_A_HOST = {"y": "y: this time", "a": "a: always", "n": "n: no", "v": "v: never"}
_FOR_A_DEFINITION = {"y": "y: take it as it is now", "n": "n: no"}

USAGE = Usage(
    verb="approvals",
    summary="Answer what clients want to do, and look at tools that have changed.",
    words=(
        Word(name="ACTION", about="what to do", choices=_ACTIONS, optional=True),
        Word(name="ID", about="a question, or a changed tool", optional=True, is_name=True),
    ),
    options=(
        Option(name="session", about="approve: every call of this tool until the session ends"),
        Option(name="always", about="approve or deny: for good, where it is about a host"),
        Option(name="yes", about="approve: do not ask whether you are sure"),
        Option(name="all", about="list: those that were decided within a day, too"),
    ),
    details=(
        "An approval holds for exactly what is shown, for one call, and for five minutes.\n"
        "The client that asks cannot approve: the command refuses when that client started it."
    ),
    examples=(
        "switchboard approvals",
        "switchboard approvals show k3f9x2mq",
        "switchboard approvals approve k3f9x2mq --session",
        "switchboard approvals watch",
    ),
)


class ListedApproval(Struct, frozen=True, kw_only=True):
    """One line of the list."""

    id: str
    kind: Literal["call", "definition"]
    state: str
    tool: str
    # The suite or the server that it belongs to.
    of: str
    # Both in words; for an agent, what it is to do or wants to.
    what: str = ""
    risk: str = ""
    client: str = ""
    session: str = ""
    workspace: str = ""
    asked_at: str
    expires_at: str = ""
    decided_by: str = ""


class ApprovalsReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals/1"):
    """What waits for a person, oldest first."""

    approvals: tuple[ListedApproval, ...]

    def lines(self, style: Style) -> Iterator[str]:
        if not self.approvals:
            return
        heads = ("ID", "STATE", "LEFT", "RISK", "WHAT", "CLIENT")
        rows = [
            (
                each.id,
                each.state,
                _left(each),
                each.risk or "-",
                each.what,
                each.client or "-",
            )
            for each in self.approvals
        ]
        yield from columns(heads, rows, style, elastic=(4, 5))

    def notes(self, style: Style) -> Iterator[str]:
        waiting = [each.id for each in self.approvals if each.state in {"pending", "held"}]
        if not waiting:
            yield "nothing waits for an answer"
        else:
            yield hint(style, f"switchboard approvals show {waiting[0]}")


class QuestionReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-question/1"):
    """One question with everything that is known of it."""

    state: str
    question: DatedQuestion
    answer: DatedAnswer | None = None

    def lines(self, style: Style) -> Iterator[str]:
        yield from question_lines(self.question, style)
        if self.answer is not None:
            yield ""
            yield f"{self.state}, by {self.answer.by}: {self.answer.chain or 'no process noted'}"

    def notes(self, style: Style) -> Iterator[str]:
        if self.state == "pending":
            yield hint(style, f"switchboard approvals approve {self.question.id}")


class DefinitionReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-definition/1"):
    """A tool that its server has changed, before and after."""

    definition: DatedHeld
    # What was changed, as lines with `+` and `-`.
    changes: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        yield from change_lines(self.definition, self.changes, style)

    def notes(self, style: Style) -> Iterator[str]:
        yield hint(style, f"switchboard approvals approve {self.definition.id}")


class DecidedReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-decided/1"):
    """What was decided."""

    id: str
    kind: Literal["call", "definition"]
    verdict: Literal["approved", "denied"]
    extent: Extent
    tool: str

    def lines(self, style: Style) -> Iterator[str]:
        del style
        what = "the changed tool" if self.kind == "definition" else "the call of"
        more = " and every other call of it in this session" if self.extent == "session" else ""
        more += " for good" if self.extent == "always" else ""
        yield f"{self.verdict}: {what} {self.tool}{more}"

    def notes(self, style: Style) -> Iterator[str]:
        del style
        if self.verdict == "approved" and self.kind == "call":
            yield "it runs now if its client is still waiting; otherwise make the same call again"


class WatchedReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-watched/1"):
    """A question when it is asked."""

    one_of_many: ClassVar[bool] = True
    question: DatedQuestion

    def lines(self, style: Style) -> Iterator[str]:
        yield from question_lines(self.question, style)
        yield ""


class WatchedDefinitionReport(
    Report, frozen=True, kw_only=True, tag="switchboard.approvals-watched-definition/1"
):
    """A tool when it turns out that its server has changed it."""

    one_of_many: ClassVar[bool] = True
    definition: DatedHeld
    changes: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        yield from change_lines(self.definition, self.changes, style)
        yield ""


def run(request: CommandRequest) -> Report:
    arguments = request.arguments
    action, wanted = arguments.word(0) or "list", arguments.word(1)
    _check(request, action, wanted)
    if action == "list":
        return _listed(_waiting(request, everything=arguments.has("all")))
    if action == "watch":
        return QuestionWatch(
            waiting=lambda: _watched(_waiting(request)),
            show=request.show,
            decide=lambda wanted: _decided(request, wanted).verdict,
        ).watch()
    found = _waiting(request, wanted)
    if action == "show":
        return _shown(found)
    return _decide(request, found, wanted, approves=action == "approve")


def names(request: CommandRequest) -> Iterator[str]:
    """What a shell may complete."""
    found = _waiting(request)
    yield from (each.question.id for each in found.calls)
    yield from (each.id for each in found.definitions)


def _waiting(
    request: CommandRequest, wanted: str = "", *, everything: bool = False
) -> WaitingApprovals:
    asked = ApprovalsRequest(id=wanted, everything=everything)
    if (answer := daemon_answer(request, asked, WaitingApprovals)) is not None:
        return answer
    return asyncio.run(_own_answer(request, lambda decisions: decisions.waiting(asked)))


def _decided(request: CommandRequest, wanted: DecideRequest) -> Decision:
    if (answer := daemon_answer(request, wanted, Decision)) is not None:
        return answer
    ours = Approver.of_this_process()
    return asyncio.run(_own_answer(request, lambda decisions: decisions.decide(wanted, ours)))


async def _own_answer(
    request: CommandRequest, ask: Callable[[Decisions], Coroutine[Any, Any, T]]
) -> T:
    """What the approvals on disk say, where there is no daemon to ask."""
    home = places_from(dict(request.environ)).home
    store = SqliteApprovals(home)
    log = SqliteAudit(home)
    try:
        return await ask(Decisions(store, log))
    finally:
        await store.aclose()
        await log.aclose()


def _check(request: CommandRequest, action: str, wanted: str) -> None:
    arguments = request.arguments
    if action in _NEED_ID and not wanted:
        raise UsageError(f"`{action}` needs an id", "switchboard approvals list")
    if action not in _NEED_ID and wanted:
        raise UsageError(f"`{action}` takes no id", f"switchboard approvals show {wanted}")
    if arguments.has("always") and (action not in ("approve", "deny") or arguments.has("session")):
        raise UsageError(
            "`--always` belongs to `approve` and `deny`", "switchboard approvals --help"
        )
    for option, owner in (("session", "approve"), ("yes", "approve"), ("all", "list")):
        if arguments.has(option) and action != owner:
            raise UsageError(f"`--{option}` belongs to `{owner}`", "switchboard approvals --help")
    if action == "approve" and not arguments.has("yes") and not is_terminal(sys.stdin):
        # Nobody would see what is approved.
        raise UsageError(
            "without a terminal nobody can be shown what is approved",
            f"switchboard approvals approve {wanted} --yes",
        )


def _listed(found: WaitingApprovals) -> Report:
    calls = [
        ListedApproval(
            id=each.question.id,
            kind="call",
            state=each.state,
            tool=each.question.tool,
            of=each.question.suite or each.question.facts.server,
            what=_in_words(each.question),
            risk=each.question.risk.level,
            client=each.question.client,
            session=each.question.session_id,
            workspace=each.question.workspace,
            asked_at=stamped(each.question.asked_at),
            expires_at=stamped(each.question.expires_at),
            decided_by=each.answer.by if each.answer else "",
        )
        for each in found.calls
    ]
    definitions = [
        ListedApproval(
            id=held.id,
            kind="definition",
            state="held",
            tool=written_out(held.tool),
            of=held.server,
            what=f"changed tool: {written_out(held.tool)} of {written_out(held.server)}",
            asked_at=stamped(held.at),
        )
        for held in found.definitions
    ]
    return ApprovalsReport(approvals=(*calls, *definitions))


def _in_words(question: Question) -> str:
    """What a question is about, in one line."""
    if question.wish:
        thing = " ".join(question.exactly.split())
        # Who wants it stands beside it.
        if question.is_permission and thing:
            return thing
        return f"{question.wish}: {thing}" if thing else question.wish
    account = f" as {question.facts.account}" if question.facts.account else ""
    return f"{question.tool} of {question.suite or question.facts.server}{account}"


def _watched(found: WaitingApprovals) -> tuple[Waiting, ...]:
    """Everything that somebody could answer now."""
    calls = [
        Waiting(
            id=each.question.id,
            choices=_choices(each.question),
            report=WatchedReport(question=DatedQuestion.of(each.question)),
        )
        for each in found.calls
    ]
    definitions = [
        Waiting(
            id=held.id,
            choices=_FOR_A_DEFINITION,
            report=WatchedDefinitionReport(
                definition=DatedHeld.of(held), changes=held_difference(held)
            ),
        )
        for held in found.definitions
    ]
    return (*calls, *definitions)


def _choices(question: Question) -> dict[str, str]:
    if "always" in question.offers:
        return _FOR_A_HOST
    return {key: _FOR_A_CALL[key] for key in ("ysn" if "session" in question.offers else "yn")}


def _shown(found: WaitingApprovals) -> Report:
    for held in found.definitions:
        return DefinitionReport(definition=DatedHeld.of(held), changes=held_difference(held))
    (posted,) = found.calls
    question = DatedQuestion.of(posted.question)
    answer = DatedAnswer.of(posted.answer) if posted.answer else None
    return QuestionReport(state=posted.state, question=question, answer=answer)


def _decide(
    request: CommandRequest, found: WaitingApprovals, wanted: str, *, approves: bool
) -> Report:
    for_session = request.arguments.has("session")
    if for_session and found.definitions:
        raise UsageError("a changed tool is approved for good", "leave `--session` out")
    always = request.arguments.has("always")
    extent: Extent = "always" if always else "session" if for_session else "once"
    decide = DecideRequest(id=wanted, approves=approves, extent=extent)
    if approves and not request.arguments.has("yes"):
        # Nobody is asked about what could not be done.
        _decided(request, replace(decide, only_check=True))
        _confirm(request, _shown(found))
    decision = _decided(request, decide)
    return DecidedReport(
        id=decision.id,
        kind=decision.kind,
        verdict=decision.verdict,
        extent=decision.extent,
        tool=decision.tool,
    )


def _confirm(request: CommandRequest, report: Report) -> None:
    """Show what would be approved, and take anything but a yes for a no."""
    for line in report.lines(request.talk.style):
        request.talk.say(line)
    ask_at_terminal("\nApprove? [y/N] ")
    if not says_yes():
        raise Fault(
            FaultCode.CANCELLED, "not-confirmed", "nothing was approved, and nothing was denied"
        )


def _left(each: ListedApproval) -> str:
    if each.state != "pending":
        return "-"
    left = datetime.fromisoformat(each.expires_at).timestamp() - time.time()
    return f"{max(left, 0):.0f} s"
