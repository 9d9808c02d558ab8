"""`switchboard approvals`: answer what clients want to do, and look at tools that have changed."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from switchboard.approvals.approver import Approver
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.approving.lasting_rules import ruled
from switchboard.cli.verbs.parts.approving.reports import (
    ApprovalsReport,
    DecidedReport,
    DefinitionReport,
    ListedApproval,
    QuestionReport,
    WatchedDefinitionReport,
    WatchedReport,
)
from switchboard.cli.verbs.parts.approving.team_state import opened_approvals, opened_audit
from switchboard.cli.verbs.parts.approving.waiting import Waiting
from switchboard.cli.verbs.parts.approving.watch import QuestionWatch
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.cli.verbs.parts.dated import DatedAnswer, DatedHeld, DatedQuestion
from switchboard.cli.verbs.parts.questions import in_words
from switchboard.control.answers import Decision, WaitingApprovals
from switchboard.control.decisions import Decisions
from switchboard.control.requests import ApprovalsRequest, DecideRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.cleaning import cleaned_line, written_out
from switchboard.core.questions import Extent, Question
from switchboard.core.text.stamps import stamped
from switchboard.ipc.paths import places_from
from switchkit.cli.style import is_terminal
from switchkit.cli.typed import ask_at_terminal, says_yes
from switchkit.cli.usage import Option, Usage, UsageError, Word

T = TypeVar("T")

_ACTIONS = ("list", "show", "approve", "deny", "watch", "rules", "serve", "devices")
_NEED_ID = frozenset({"show", "approve", "deny"})
_MAY_HAVE_ID = _NEED_ID | {"rules", "devices"}
_MAY_BE_REMOVED = ("rules", "devices")
# What can be pressed while watching.
_FOR_A_CALL = {
    "y": "y: this call",
    "s": "s: this session",
    "a": "a: always for this tool",
    "n": "n: no",
}
_FOR_A_HOST = {"y": "y: this time", "a": "a: for good", "n": "n: no", "v": "v: never"}
_MOST_LETTERS = 40
_FOR_A_DEFINITION = {"y": "y: take it as it is now", "n": "n: no"}

USAGE = Usage(
    verb="approvals",
    summary="Answer what clients want to do, and look at tools that have changed.",
    words=(
        Word(name="ACTION", about="what to do", choices=_ACTIONS, optional=True),
        Word(
            name="ID",
            about="a question, a tool, a rule or a device",
            optional=True,
            is_name=True,
        ),
    ),
    options=(
        Option(name="session", about="approve: every call of this tool until the session ends"),
        Option(name="always", about="approve: for good; deny: the same, where it is about a host"),
        Option(name="yes", about="approve: do not ask whether you are sure"),
        Option(name="all", about="list: those that were decided within a day, too"),
        Option(name="remove", about="rules, devices: take the one of this id back"),
        Option(name="listen", value="ADDRESS", about="serve: on this private address, for phones"),
        Option(name="pair", about="serve: show a code that registers another device"),
        Option(name="tools", about="rules: ask the servers for their tools, and say which ask"),
    ),
    details=(
        "An approval holds for exactly what is shown, for one call, and for five minutes.\n"
        "With `--always` it holds for good, for this tool of this server as both are now.\n"
        "The client that asks cannot approve: the command refuses when that client started it."
    ),
    examples=(
        "switchboard approvals",
        "switchboard approvals show k3f9x2mq",
        "switchboard approvals approve k3f9x2mq --session",
        "switchboard approvals watch",
        "switchboard approvals rules --tools",
        "switchboard approvals rules k3f9x2mq --remove",
        "switchboard approvals serve --listen 192.168.1.20",
        "switchboard approvals devices",
    ),
)


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
            style=request.talk.style,
            as_json=arguments.has("json"),
        ).watch()
    if action == "rules":
        return ruled(request, wanted)
    if action in ("serve", "devices"):
        return _about_devices(request, action, wanted)
    found = _waiting(request, wanted)
    if action == "show":
        return _shown(found)
    return _decide(request, found, wanted, approves=action == "approve")


def _about_devices(request: CommandRequest, action: str, wanted: str) -> Report:
    # Few have one, and it takes HTTP and ciphers.
    if action == "devices":
        from switchboard.cli.verbs.parts.approving.device_list import device_list  # noqa: PLC0415

        return device_list(request, wanted)
    from switchboard.cli.verbs.parts.approving.phone_serving import serve_phones  # noqa: PLC0415

    return serve_phones(request, request.arguments.one("listen") or "")


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
    store, log = opened_approvals(request), opened_audit(request)
    try:
        return await ask(Decisions(store, log, home))
    finally:
        await store.aclose()
        await log.aclose()


def _check(request: CommandRequest, action: str, wanted: str) -> None:
    arguments = request.arguments
    if action in _NEED_ID and not wanted:
        raise UsageError(f"`{action}` needs an id", "switchboard approvals list")
    if action not in _MAY_HAVE_ID and wanted:
        raise UsageError(f"`{action}` takes no id", f"switchboard approvals show {wanted}")
    if arguments.has("always") and (action not in ("approve", "deny") or arguments.has("session")):
        raise UsageError(
            "`--always` belongs to `approve` and `deny`", "switchboard approvals --help"
        )
    if action in _MAY_BE_REMOVED and bool(wanted) != arguments.has("remove"):
        raise UsageError(
            f"`{action}` takes an id with `--remove`", f"switchboard approvals {action}"
        )
    if action == "serve" and not arguments.one("listen"):
        raise UsageError(
            "`serve` needs the address of this computer in your own network",
            "switchboard approvals serve --listen 192.168.1.20",
        )
    owners = {"session": ("approve",), "yes": ("approve",), "all": ("list",), "tools": ("rules",)}
    owners |= {"remove": _MAY_BE_REMOVED, "listen": ("serve",), "pair": ("serve",)}
    for option, owner in owners.items():
        if arguments.has(option) and action not in owner:
            raise UsageError(
                f"`--{option}` belongs to `{owner[0]}`", "switchboard approvals --help"
            )


def _listed(found: WaitingApprovals) -> Report:
    calls = [
        ListedApproval(
            id=each.question.id,
            kind="call",
            state=each.state,
            tool=each.question.tool,
            of=each.question.suite or each.question.facts.server,
            what=in_words(each.question),
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


def _watched(found: WaitingApprovals) -> tuple[Waiting, ...]:
    """Everything that somebody could answer now."""
    calls = [
        Waiting(
            id=each.question.id,
            title=_title(each.question),
            choices=_choices(each.question),
            report=WatchedReport(question=DatedQuestion.of(each.question)),
        )
        for each in found.calls
    ]
    definitions = [
        Waiting(
            id=held.id,
            title=f"changed tool: {written_out(held.tool)} of {written_out(held.server)}",
            choices=_FOR_A_DEFINITION,
            report=WatchedDefinitionReport(definition=DatedHeld.of(held), changes=held.changes),
        )
        for held in found.definitions
    ]
    return (*calls, *definitions)


def _title(question: Question) -> str:
    """The line that decides, and who asks."""
    first = question.prompt.partition("\n")[0]
    return f"{first} ({cleaned_line(question.client, _MOST_LETTERS)})" if question.client else first


def _choices(question: Question) -> dict[str, str]:
    if question.host:
        return _FOR_A_HOST
    keys = {"y": "once", "s": "session", "a": "always"}
    offered = {key: _FOR_A_CALL[key] for key, extent in keys.items() if extent in question.offers}
    return {**offered, "n": _FOR_A_CALL["n"]}


def _shown(found: WaitingApprovals) -> Report:
    for held in found.definitions:
        return DefinitionReport(definition=DatedHeld.of(held), changes=held.changes)
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
        if not is_terminal(sys.stdin):
            raise UsageError(
                "without a terminal nobody can be shown what is approved",
                f"switchboard approvals approve {wanted} --yes",
            )
        _confirm(request, _shown(found), "Approve for good" if always else "Approve")
    decision = _decided(request, decide)
    return DecidedReport(
        id=decision.id,
        kind=decision.kind,
        verdict=decision.verdict,
        extent=decision.extent,
        tool=decision.tool,
        host=decision.host,
    )


def _confirm(request: CommandRequest, report: Report, asking: str) -> None:
    """Show what would be approved, and take anything but a yes for a no."""
    for line in report.lines(request.talk.style):
        request.talk.say(line)
    ask_at_terminal(f"\n{asking}? [y/N] ")
    if not says_yes():
        raise Fault(
            FaultCode.CANCELLED, "not-confirmed", "nothing was approved, and nothing was denied"
        )
