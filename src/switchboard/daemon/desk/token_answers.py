"""Answers by tokens: what a token is for, and what is decided by it."""

from typing import Literal

from switchboard.approvals.approver import Approver
from switchboard.control.answers import Decision, OfferedAnswer, OfferedAnswers
from switchboard.control.decisions import Decisions
from switchboard.control.requests import DecideRequest, OfferRequest, TokenAnswerRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import ApprovalStore
from switchboard.pocket.answer_tokens import AnswerTokens

_YES = frozenset({"approved", "consumed"})
# By which the log tells answers that came with a device from those with a token alone.
BY_DEVICE: Literal["device"] = "device"
BY_NOTICE: Literal["notice"] = "notice"


async def offered(
    request: OfferRequest, tokens: AnswerTokens, store: ApprovalStore
) -> OfferedAnswers:
    """The question of a token, or all that wait. Raises a fault when a token is none."""
    recent = await store.recent()
    approved = tuple(each for each in recent if each.state in _YES)
    if not request.token:
        waiting = [each.question for each in await store.waiting()]
        offers = tuple(
            OfferedAnswer(
                question=each,
                yes=tokens.issue(each, "approved"),
                no=tokens.issue(each, "denied"),
            )
            for each in waiting
        )
        return OfferedAnswers(offers=offers, approved=approved)
    found = tokens.look(request.token)
    posted = await store.find(found.question) if found is not None else None
    if found is None or posted is None:
        raise _no_token()
    offer = OfferedAnswer(
        question=posted.question, is_waiting=posted.state == "pending", verdict=found.verdict
    )
    return OfferedAnswers(offers=(offer,), approved=approved)


async def answered(
    request: TokenAnswerRequest, tokens: AnswerTokens, decisions: Decisions, approver: Approver
) -> Decision:
    """Decide by a token, which is used up by it. Raises a fault."""
    found = tokens.look(request.token)
    if found is None:
        raise _no_token()
    if found.verdict != ("approved" if request.approves else "denied"):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "token-for-another-answer",
            "this token is for another answer",
        )
    if request.approves and not (request.device and request.digest):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "presence-unproven",
            "a yes takes the proof of a registered device",
            hint="switchboard approvals serve --help",
        )
    if request.digest not in ("", found.digest):
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "not-what-was-shown",
            "this is not the question that was shown",
        )
    tokens.take(request.token)
    decide = DecideRequest(id=found.question, approves=request.approves, digest=found.digest)
    by = BY_DEVICE if request.device else BY_NOTICE
    return await decisions.decide(decide, approver, by=by, device=request.device)


def _no_token() -> Fault:
    return Fault(
        FaultCode.NOT_FOUND,
        "token-unknown",
        "this link was used already, or its question waits no more",
        hint="switchboard approvals",
    )
