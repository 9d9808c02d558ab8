"""What waits for a person, and what a person decides, whoever brings the answer here."""

import asyncio
import time
from collections.abc import Sequence
from functools import lru_cache

from switchboard.approvals.approver import Approver
from switchboard.approvals.differences import held_difference
from switchboard.control.answers import ChangedTool, Decision, WaitingApprovals
from switchboard.control.requests import ApprovalsRequest, DecideRequest
from switchboard.control.served_clients import clients_of, served_now
from switchboard.core.audit import AuditApproval, AuditRecord, new_record
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.cleaning import written_out
from switchboard.core.questions import Answer, Question, Verdict
from switchboard.core.stores import ApprovalStore, AuditStore, Held, Posted

_WATCH = "switchboard approvals watch"
# Why a question ended that nobody answered.
_LEFT = {
    "session": "the client that asked has ended",
    "exit": "the process that asked has ended",
    "queue": "it gave way to newer questions of its client",
}


class Decisions:
    """The approvals of one home, and the log that tells of decisions on changed tools."""

    def __init__(self, store: ApprovalStore, audit: AuditStore, home: str) -> None:
        self._home = home
        self._store = store
        self._audit = audit

    async def waiting(self, request: ApprovalsRequest) -> WaitingApprovals:
        """What waits, or the one that is asked for. Raises a fault when there is none."""
        if request.id:
            found = await self._find(request.id)
            if isinstance(found, Posted):
                return WaitingApprovals(calls=(found,))
            return WaitingApprovals(definitions=await _changed([found]))
        calls = await (self._store.recent() if request.everything else self._store.waiting())
        return WaitingApprovals(
            calls=tuple(calls), definitions=await _changed(await self._store.held())
        )

    async def decide(
        self, request: DecideRequest, approver: Approver, *, by: str = "cli", device: str = ""
    ) -> Decision:
        """Take the answer of a person. Raises a fault, also when a client gives it.

        `device` is what they gave it with, if that is not a terminal or the page.
        """
        found = await self._find(request.id)
        verdict: Verdict = "approved" if request.approves else "denied"
        if isinstance(found, Held):
            await self._decide_definition(found, request, approver, by)
            kind, tool, host = "definition", written_out(found.tool), ""
        else:
            await self._decide_call(found, request, approver, by, device)
            kind, tool, host = "call", found.question.tool, found.question.host
        return Decision(
            id=request.id,
            kind=kind,
            verdict=verdict,
            extent=request.extent,
            tool=tool,
            host=host,
        )

    async def _check_no_client(self, approver: Approver) -> None:
        """Those who ask are known by their question; another client is no person either."""
        approver.check_no_client(clients_of(await asyncio.to_thread(served_now, self._home)))

    async def _find(self, wanted: str) -> Posted | Held:
        posted = await self._store.find(wanted)
        if posted is not None:
            return posted
        for held in await self._store.held():
            if held.id == wanted:
                return held
        raise Fault(
            FaultCode.NOT_FOUND,
            "unknown-approval",
            f"nothing with the id `{wanted}` waits for an answer",
            hint="switchboard approvals list --all",
        )

    async def _decide_call(
        self, posted: Posted, request: DecideRequest, approver: Approver, by: str, device: str
    ) -> None:
        question = posted.question
        # To refuse for good is offered about hosts: a tool that is never wanted is hidden instead.
        is_offered = (
            request.approves or request.extent == "once" or "session" not in question.offers
        )
        if request.extent not in question.offers or not is_offered:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "no-session",
                f"this question has no such answer: it is answered {' or '.join(question.offers)}"
                f"{_why_not(question, request)}",
                hint=f"switchboard approvals approve {question.id}",
            )
        if posted.state != "pending":
            raise _decided_already(posted)
        if request.digest not in ("", question.digest):
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "not-what-was-shown",
                "this is not the question that was shown",
                hint=question.shown_by,
            )
        if request.approves:
            approver.check(question)
            await self._check_no_client(approver)
        if request.only_check:
            return
        answer = Answer(
            verdict="approved" if request.approves else "denied",
            extent=request.extent,
            by=by,
            at=time.time(),
            chain=" < ".join(filter(None, (device, str(approver)))),
        )
        if not await self._store.decide(question.id, answer):
            raise _decided_already(await self._store.find(question.id) or posted)

    async def _decide_definition(
        self, held: Held, request: DecideRequest, approver: Approver, by: str
    ) -> None:
        if request.approves:
            approver.check_clients(await self._store.clients(held))
            await self._check_no_client(approver)
        if request.only_check:
            return
        # What cannot be written down is not acted on.
        await self._audit.append(_record(held, request, approver, by))
        if not await (self._store.accept(held) if request.approves else self._store.refuse(held)):
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "changed-again",
                "the server has changed it again meanwhile",
                hint="switchboard approvals list",
            )


async def _changed(held: Sequence[Held]) -> tuple[ChangedTool, ...]:
    # To compare long ones takes a while, in which others are served.
    return await asyncio.to_thread(lambda: tuple(map(_told, held))) if held else ()


@lru_cache(maxsize=64)
def _told(held: Held) -> ChangedTool:
    """Kept, because pages ask whenever the queue changes, and a definition is held once."""
    return ChangedTool(
        id=held.id,
        server=held.server,
        tool=held.tool,
        before=held.before,
        after=held.after,
        at=held.at,
        changes=held_difference(held),
    )


def _record(held: Held, request: DecideRequest, approver: Approver, by: str) -> AuditRecord:
    """No call is there to tell of the decision on a changed tool."""
    return new_record(
        "approval.decided",
        tool=held.tool,
        server=held.server,
        approval=AuditApproval(
            decision="approved" if request.approves else "denied",
            id=held.id,
            mode="definition",
            channel=by,
            chain=str(approver),
        ),
    )


def _why_not(question: Question, request: DecideRequest) -> str:
    """Why an answer for good is not taken, where that was the one."""
    if request.extent != "always":
        return ""
    if not request.approves:
        return "; a tool that is never wanted is hidden in the configuration"
    return f"; not for good, because {question.why_not_always}" if question.why_not_always else ""


def _decided_already(posted: Posted) -> Fault:
    answer = posted.answer
    by = answer.by if answer is not None else ""
    hint = f"switchboard approvals show {posted.question.id}"
    if by in _LEFT:
        # An approval is bound to the session that asked.
        hint = f"an answer counts only while its client runs: {_WATCH}"
    elif posted.state == "expired":
        hint = f"have the call made again, and answer while it waits: {_WATCH}"
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "decided-already",
        f"it is no longer waiting: {_LEFT.get(by) or _ended(posted)}",
        hint=hint,
    )


def _ended(posted: Posted) -> str:
    if posted.answer is None:
        return posted.state
    at = time.strftime("%H:%M:%S", time.localtime(posted.answer.at))
    state = "approved, and used" if posted.state == "consumed" else posted.state
    return f"{state} at {at}, by {posted.answer.by}"
