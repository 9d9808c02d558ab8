"""What is told of an approval: events for whoever watches, records for the audit log."""

from msgspec.structs import replace

from switchboard.core.audit import AuditApproval, AuditRecord, stamp
from switchboard.core.calls import Call
from switchboard.core.cases import Case
from switchboard.core.events import ApprovalAsked, ApprovalDecided, DefinitionHeld
from switchboard.core.launches import Launch
from switchboard.core.ports import Events
from switchboard.core.principal import this_user
from switchboard.core.questions import Answer, Question
from switchboard.core.stores import AuditStore

# A client says its own name, and may say as much as it likes.
_MOST_LETTERS = 200


class ApprovalTrail:
    """Tells of questions, answers and held definitions."""

    def __init__(self, events: Events, audit: AuditStore | None = None) -> None:
        self._events = events
        self._audit = audit

    def asked(self, call: Call, launch: Launch, question: Question) -> None:
        """A question was put to somebody."""
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
            self._audit.post(self._record("approval.requested", call, launch, question))

    async def decided(
        self, call: Call, launch: Launch, case: Case, question: Question, answer: Answer
    ) -> None:
        """An answer has come. It is on disk before anybody acts on it, or a fault is raised."""
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
            about = replace(
                self._record("approval.decided", call, launch, question),
                approval=AuditApproval(
                    decision=answer.verdict,
                    id=question.id,
                    mode=answer.extent,
                    channel=answer.by,
                    digest=question.digest,
                    chain=answer.chain,
                ),
            )
            await audit.append(
                lambda: replace(about, args_sha256=audit.fingerprint(bytes(case.arguments)))
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
            self._audit.post(
                AuditRecord(
                    ts=stamp(),
                    event="tool.definition_changed",
                    correlation_id=call.id,
                    session_id=call.session.id,
                    tool=launch.tool.name,
                    server=launch.server,
                    launch_fingerprint=launch.fingerprint,
                    workspace=call.session.workspace,
                    principal=str(this_user()),
                    uid0=this_user().is_root,
                )
            )

    def _record(self, event: str, call: Call, launch: Launch, question: Question) -> AuditRecord:
        facts = question.facts
        return AuditRecord(
            ts=stamp(),
            event=event,
            correlation_id=call.id,
            session_id=call.session.id,
            tool=call.tool.name,
            cwd=facts.cwd,
            sandbox_profile=facts.sandbox,
            via=call.via.name if call.via is not None else "",
            provider=call.tool.provider,
            client=call.session.client[:_MOST_LETTERS],
            transport=call.session.via,
            protocol_version=call.session.protocol,
            workspace=call.session.workspace,
            server=launch.server,
            launch_fingerprint=launch.fingerprint,
            env_names=tuple(sorted({*facts.env, *facts.secrets})),
            network=facts.network,
            principal=str(this_user()),
            uid0=facts.uid0,
            note="; ".join(question.risk.reasons),
        )
