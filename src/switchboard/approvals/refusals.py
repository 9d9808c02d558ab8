"""What a client is told of a call that may not run: what happened, why, and what helps."""

from switchboard.core.calls.call import Call
from switchboard.core.calls.launches import Launch
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import BY_CLIENT, UNATTENDED, UNSHOWN, USED, Answer, Question
from switchboard.core.sessions import COMMAND_VIAS
from switchboard.core.stores import Held
from switchboard.core.text.stamps import whole_second

UNDECIDED = "approval-required"
_WATCH = "the user has to keep `switchboard approvals watch` open during the run"


def definition_changed(launch: Launch, held: Held) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "definition-changed",
        f"the server has changed `{launch.tool.name}` since it was first seen",
        hint=f"the user can look with `switchboard approvals show {held.id}`, and approve it",
        details={"approval_id": held.id},
    )


def too_many(call: Call, question: Question, most: int) -> Fault:
    return Fault(
        FaultCode.RESOURCE_EXHAUSTED,
        "too-many-identical-calls",
        f"{most} calls of `{call.tool.name}` with the same arguments"
        " already wait for the answer to one question",
        hint=f"have it answered first: switchboard approvals show {question.id}",
        details={"approval_id": question.id},
    )


def stale(call: Call) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "approval-stale",
        f"what `{call.tool.name}` would do has changed since it was approved",
        hint="make the call again, and have it approved as it is now",
    )


def unavailable(tool: str, why: str = "nobody can be asked") -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "approval-unavailable",
        f"`{tool}` needs the approval of a person, and {why}",
        hint="run it where somebody can be asked; `approval_channel` says who may be",
    )


def undecided(question: Question) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        UNDECIDED,
        f"`{question.tool}` needs the approval of a person, who has not decided yet",
        hint=(
            f"the user can type `switchboard approvals approve {question.id}` in a terminal;"
            " then make the same call again"
        ),
        details={"approval_id": question.id, "expires_at": whole_second(question.expires_at)},
    )


def unattended(fault: Fault, question: Question) -> Fault:
    """The same fault for a client whose program has answered by itself.

    Such a program ends with its task, and an approval is bound to the session that asked.
    """
    return Fault(
        fault.code,
        fault.reason,
        f"`{question.tool}` needs the approval of a person, who has not decided yet:"
        f" {_by_itself(question)}",
        hint=(
            "an answer counts only while this run lasts: make the same call again to wait once more"
            f" while the user types `switchboard approvals approve {question.id}`, or end and say"
            f" that {_WATCH}"
        ),
        details=fault.details,
    )


def _by_itself(question: Question) -> str:
    return f"{question.client or 'the client'} answered at once, without asking its user"


def refused(call: Call, question: Question, answer: Answer) -> Fault:
    wish = call.launch.wish if call.launch is not None else None
    what = f"`{call.tool.name}`" if wish is None else wish.noun
    may = f"{what} may run" if wish is None else f"{what} is allowed"
    if answer.by == USED:
        reason, message = "approval-used", f"the approval of {what} was used by another call"
        hint = "make the call again to ask again"
    elif answer.verdict == "denied":
        reason, hint = "approval-denied", "do not try again unless the user asks for it"
        if answer.by == BY_CLIENT and call.session.via in COMMAND_VIAS:
            # Whoever typed the command has just said so, and needs no advice for models.
            hint = ""
        message = f"the user does not want {what} to run"
        if wish is not None:
            message = f"the user does not allow {what}"
    elif answer.verdict == "expired":
        reason, message = "approval-expired", f"nobody decided in time whether {may}"
        hint = "make the call again to ask again"
        if answer.by == UNATTENDED:
            message = f"{message}: {_by_itself(question)}"
            hint = f"{hint}; {_WATCH}"
    else:
        reason, hint = "approval-cancelled", "ask the user before making the call again"
        message = f"the question whether {may} was withdrawn before anybody answered it"
        if answer.by == BY_CLIENT:
            message = f"the user did not agree: the question whether {may} was closed without a yes"
        elif answer.by == UNSHOWN:
            message = f"nobody was asked whether {may}: {question.client or 'the client'} failed to"
            hint = "the user can answer in a terminal, with `switchboard approvals watch`"
    return Fault(
        FaultCode.PERMISSION_DENIED,
        reason,
        message,
        hint=hint,
        details={"approval_id": question.id},
    )
