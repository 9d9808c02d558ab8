"""Asks a person about hosts that are not on the list of whoever wants to reach them."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from switchboard.approvals.queue import ApprovalQueue, new_id
from switchboard.approvals.wording import prompt_of
from switchboard.core.audit import AuditApproval, new_record
from switchboard.core.events import ApprovalAsked, ApprovalDecided
from switchboard.core.faults import Fault
from switchboard.core.ports import Events
from switchboard.core.questions import Answer, Facts, Question, Risk
from switchboard.core.stores import AuditStore
from switchboard.egress.decisions import EgressDecisions
from switchkit.platform import Unknown
from switchkit.processes import ancestry

# A host that was not agreed to is not asked about again so soon.
_AFTER_NO_S = 300.0
# Of one process; what it still wants then is refused without a word to anybody.
_MOST_QUESTIONS = 20
_RISK = "it may send there whatever it knows"


class EgressSubject(Struct, frozen=True, kw_only=True):
    """Who wants to reach something, as a person is told."""

    server: str
    runs: str
    # The same without secrets.
    shown: str
    cwd: str
    hosts: tuple[str, ...]


class EgressQuestions:
    """The questions of one process with a way out."""

    def __init__(
        self,
        subject: EgressSubject,
        decisions: EgressDecisions,
        queue: ApprovalQueue,
        *,
        audit: AuditStore,
        events: Events,
        # The processes of those for whom it works: none of them may answer.
        clients: Callable[[], Iterable[int]],
        wait_s: float,
    ) -> None:
        self._subject = subject
        self._decisions = decisions
        self._queue = queue
        self._audit = audit
        self._events = events
        self._clients = clients
        self._wait_s = wait_s
        self._asking: dict[str, asyncio.Task[bool]] = {}
        self._refused_until: dict[str, float] = {}
        self._asked = 0

    async def may_reach(self, host: str, port: int) -> bool:
        """Whether a person lets it. Waits for the answer, and takes silence for a no."""
        shown = f"[{host}]" if ":" in host else host
        where = f"{shown}:{port}"
        subject = self._subject
        known = await asyncio.to_thread(self._decisions.find, subject.server, subject.runs, where)
        if known is not None:
            return known
        if self._refused_until.get(where, 0.0) > time.monotonic():
            return False
        asking = self._asking.get(where)
        if asking is None:
            if self._asked >= _MOST_QUESTIONS:
                return False
            self._asked += 1
            asking = asyncio.get_running_loop().create_task(self._ask(where))
            self._asking[where] = asking
            asking.add_done_callback(lambda _: self._asking.pop(where, None))
        # Whoever gives up does not take the question away from others who wait for it.
        return await asyncio.shield(asking)

    async def _ask(self, where: str) -> bool:
        question = self._question(where)
        try:
            posted = await self._queue.post(question)
            question = posted.question
            self._tell_asked(question)
            answer = await self._queue.answer(question, within_s=self._wait_s)
            if answer is None:
                await self._queue.withdraw(question.id)
                answer = Answer(verdict="expired", by="time", at=time.time())
            else:
                answer = await self._queue.settle(question, answer)
            await self._tell_decided(question, answer, where)
        except Fault:
            # Too many wait already, or nothing can be written down.
            return False
        is_yes = answer.verdict == "approved"
        if answer.extent == "always" and answer.verdict in ("approved", "denied"):
            subject = self._subject
            await asyncio.to_thread(
                self._decisions.put, subject.server, subject.runs, where, allowed=is_yes
            )
        if not is_yes:
            self._refused_until[where] = time.monotonic() + _AFTER_NO_S
        return is_yes

    def _question(self, where: str) -> Question:
        subject, now = self._subject, time.time()
        bound = f"{subject.server}\0{subject.runs}\0{subject.cwd}\0{where}"
        question = Question(
            id=new_id(),
            digest=hashlib.sha256(bound.encode("utf-8", "surrogatepass")).hexdigest(),
            session_id=f"egress:{subject.server}",
            call_id="",
            tool=subject.server,
            wish=f"{subject.server} wants to reach a host that is not on its list",
            exactly=where,
            client=subject.server,
            facts=Facts(
                server=subject.server,
                runs=subject.shown,
                cwd=subject.cwd,
                effects=("whatever it sends there",),
                sandbox="default",
                network=True,
                hosts=subject.hosts,
            ),
            risk=Risk(level="high", reasons=(_RISK,)),
            offers=("once", "always"),
            asked_at=now,
            expires_at=now + self._wait_s,
            patience_s=self._wait_s,
            principals=tuple(_living(self._clients())),
        )
        return replace(question, prompt=prompt_of(question))

    def _tell_asked(self, question: Question) -> None:
        self._events.emit(
            ApprovalAsked(
                call_id="",
                session_id=question.session_id,
                tool=question.tool,
                approval_id=question.id,
                digest=question.digest,
                risk=question.risk.level,
            )
        )

    async def _tell_decided(self, question: Question, answer: Answer, where: str) -> None:
        self._events.emit(
            ApprovalDecided(
                call_id="",
                session_id=question.session_id,
                tool=question.tool,
                approval_id=question.id,
                digest=question.digest,
                outcome=answer.verdict,
                extent=answer.extent,
                by=answer.by,
            )
        )
        # What cannot be written down is not acted on.
        await self._audit.append(
            new_record(
                "egress.decided",
                server=question.tool,
                note=where,
                approval=AuditApproval(
                    decision=answer.verdict,
                    id=question.id,
                    mode=answer.extent,
                    channel=answer.by,
                    digest=question.digest,
                    chain=answer.chain,
                ),
            )
        )


def _living(pids: Iterable[int]) -> Iterable[tuple[int, int]]:
    for pid in dict.fromkeys(pids):
        if pid <= 0:
            continue
        try:
            first = next(iter(ancestry(pid)), None)
        except Unknown:
            continue
        if first is not None:
            yield first.pid, first.began
