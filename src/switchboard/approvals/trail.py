"""What is told of an approval: events for whoever watches, records for the audit log."""

from typing import Any

from msgspec.structs import replace

from switchboard.approvals.request import ApprovalRequest
from switchboard.core.audit import AuditApproval, AuditRecord, call_record
from switchboard.core.calls.call import Call
from switchboard.core.calls.launches import Launch
from switchboard.core.events import ApprovalAsked, ApprovalDecided, DefinitionHeld
from switchboard.core.ports import Events
from switchboard.core.questions import Answer
from switchboard.core.stores import AuditStore


class ApprovalTrail:
    """Tells of questions, answers and held definitions."""

    def __init__(self, events: Events, audit: AuditStore | None = None) -> None:
        self._events = events
        self._audit = audit

    def asked(self, request: ApprovalRequest) -> None:
        """A question was put to somebody."""
        call, question = request.call, request.question
        self._events.emit(
            ApprovalAsked(
                call_id=call.id,
                session_id=call.session.id,
                tool=call.tool.name,
                approval_id=question.id,
                digest=question.digest,
                risk=question.risk.level,
            )
        )
        if self._audit is not None:
            self._audit.post(_record("approval.requested", request))

    async def decided(self, request: ApprovalRequest, answer: Answer) -> None:
        """An answer has come. It is on disk before anybody acts on it, or a fault is raised."""
        call, question = request.call, request.question
        self._events.emit(
            ApprovalDecided(
                call_id=call.id,
                session_id=call.session.id,
                tool=call.tool.name,
                approval_id=question.id,
                digest=question.digest,
                outcome=answer.verdict,
                extent=answer.extent,
                by=answer.by,
            )
        )
        if (audit := self._audit) is not None:
            approval = AuditApproval(
                decision=answer.verdict,
                id=question.id,
                mode=answer.extent,
                channel=answer.by,
                digest=question.digest,
                chain=answer.chain,
            )
            about = _record("approval.decided", request, approval=approval)
            await audit.append(
                lambda: replace(about, args_sha256=audit.fingerprint(bytes(call.arguments)))
            )

    def held(self, call: Call, launch: Launch, held_id: str) -> None:
        """A tool was changed by its server, and waits."""
        self._events.emit(
            DefinitionHeld(
                session_id=call.session.id,
                server=launch.server,
                tool=launch.tool.name,
                approval_id=held_id,
            )
        )
        if self._audit is not None:
            self._audit.post(call_record("tool.definition_changed", call))


def _record(event: str, request: ApprovalRequest, **more: Any) -> AuditRecord:
    question = request.question
    # The folder that was shown: every link to it is followed.
    return call_record(
        event,
        request.call,
        cwd=question.facts.cwd,
        uid0=question.facts.uid0,
        note="; ".join(question.risk.reasons),
        **more,
    )
