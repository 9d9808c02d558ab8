"""Asks a person about hosts that are not on the list of whoever wants to reach them."""

import asyncio
import contextlib
import hashlib
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from switchboard.approvals.queue import ApprovalQueue, new_id
from switchboard.approvals.wording.names import named
from switchboard.approvals.wording.prompt import prompt_of
from switchboard.core.audit import AuditApproval, new_record
from switchboard.core.channels.channel import Channel
from switchboard.core.events import ApprovalAsked, ApprovalDecided
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Events
from switchboard.core.questions import HOST_SESSION, Answer, Asker, Facts, Question, Risk
from switchboard.core.stores import AuditStore
from switchboard.egress.answers.asked_before import MOST_QUESTIONS, AskedBefore
from switchboard.egress.answers.decisions import EgressDecisions
from switchboard.egress.refusals import EgressRefusal
from switchboard.surface.asking.askers import asker_of
from switchboard.wire.http_hosts import in_url
from switchkit.platform import Unknown
from switchkit.processes import ancestry

# How often a call under way is told that it waits for a person.
_TELL_S = 10.0
_RISK = "it may send there whatever it knows"

_AGAIN = "`switchboard egress {server} --forget {where}` lets it ask again"
# Why not, after `… is not on the list, and`.
_SAYS = {
    "never": f"you said never; {_AGAIN}",
    "denied": f"you said no; {_AGAIN}",
    "unanswered": "nobody answered within {wait_s} s; have `switchboard approvals watch` open,"
    " and try again",
    "too-many-questions": f"it asked {MOST_QUESTIONS} questions within an hour",
    "not-asked": "nobody could be asked: see `switchboard approvals`, and `approval_channel`",
}

# Whose answer counts: see `approval_channel`.
Answering = Literal["any", "console", "none"]


class EgressSubject(Struct, frozen=True, kw_only=True):
    """Who wants to reach something, as a person is told."""

    server: str
    # What an answer for good is bound to: what the entry runs, as it is written.
    bound: str
    # What runs now, without secrets.
    shown: str
    cwd: str
    hosts: tuple[str, ...]


class Attendant(Struct, frozen=True, eq=False):
    """A command that calls the server, and waits for what comes of it."""

    hear: Callable[[ApprovalAsked], None]
    # The person at its terminal, if there is one.
    asker: Asker | None = None


class EgressQuestions:
    """The questions of one process with a way out."""

    def __init__(
        self,
        subject: EgressSubject,
        decisions: EgressDecisions,
        queue: ApprovalQueue,
        *,
        before: AskedBefore,
        audit: AuditStore,
        events: Events,
        # The processes of those for whom it works: none of them may answer.
        clients: Callable[[], Iterable[int]],
        wait_s: float,
        answering: Answering = "any",
        attendants: Callable[[], Sequence[Attendant]] = tuple,
    ) -> None:
        self._subject = subject
        self._decisions = decisions
        self._queue = queue
        self._before = before
        self._audit = audit
        self._events = events
        self._clients = clients
        self._wait_s = wait_s
        self._answering = answering
        self._attendants = attendants
        self._asking: dict[str, asyncio.Task[Answer]] = {}
        self._tasks = TaskSet()
        # The call that the process works for, where that is plain.
        self.channel: Callable[[], Channel | None] = lambda: None

    async def ask(self, host: str, port: int) -> None:
        """Return once a person lets it. Raises an `EgressRefusal` that says why not."""
        where = f"{in_url(host)}:{port}"
        if why := await self._why_not(where):
            server = self._subject.server
            says = _SAYS[why].format(
                server=shlex.quote(server), where=shlex.quote(where), wait_s=round(self._wait_s)
            )
            raise EgressRefusal(why, f"{where} is not on the list, and {says}", host, port)

    async def _why_not(self, where: str) -> str:
        """The reason of a refusal; nothing where it may be reached."""
        subject = self._subject
        known = await asyncio.to_thread(self._decisions.find, subject.server, subject.bound, where)
        if known is not None:
            return "" if known else "never"
        asking = self._asking.get(where) or self._begun(where)
        if isinstance(asking, str):
            return asking
        try:
            # Whoever gives up does not take the question away from others who wait for it.
            return _reason(await asyncio.shield(asking))
        except Fault:
            # Too many wait already, or nothing can be written down.
            return "not-asked"

    def _begun(self, where: str) -> asyncio.Task[Answer] | str:
        """A question on its way, or why there is none."""
        if self._before.is_denied(where):
            return "denied"
        if self._answering == "none":
            return "not-asked"
        if not self._before.may_ask():
            return "too-many-questions"
        asking = self._asking[where] = self._tasks.start(self._ask(where))
        asking.add_done_callback(lambda ended: self._ended(where, ended))
        return asking

    async def aclose(self) -> None:
        """The process has ended: nothing that it asked waits any more."""
        await self._tasks.aclose()

    def _ended(self, where: str, asking: asyncio.Task[Answer]) -> None:
        self._asking.pop(where, None)
        if not asking.cancelled():
            # Whoever asked may have gone.
            asking.exception()

    async def _ask(self, where: str) -> Answer:
        """What a person says. Raises a fault where nobody can be asked."""
        question = (await self._queue.post(self._question(where))).question
        self._tell_asked(question)
        try:
            answer = await self._answer(question, where)
        except BaseException:
            # Its process has ended: whoever looks must not answer for nobody.
            with contextlib.suppress(Fault):
                await asyncio.shield(self._queue.withdraw(question.id))
            raise
        if answer is None:
            await self._queue.withdraw(question.id)
            answer = Answer(verdict="expired", by="time", at=time.time())
        else:
            answer = await self._queue.settle(question, answer)
        await self._tell_decided(question, answer, where)
        if answer.extent == "always" and answer.verdict in ("approved", "denied"):
            subject, is_yes = self._subject, answer.verdict == "approved"
            await asyncio.to_thread(
                self._decisions.put, subject.server, subject.bound, where, allowed=is_yes
            )
        if answer.verdict == "denied":
            self._before.deny(where)
        return answer

    async def _answer(self, question: Question, where: str) -> Answer | None:
        """What is decided in the queue, or by the user of the client whose call it is."""
        async with TaskSet() as tasks:
            deciding = tasks.start(self._queue.answer(question, within_s=self._wait_s))
            tasks.start(self._keep_telling(question, where))
            asker = self._asker() if self._answering == "any" else None
            if asker is None:
                return await deciding
            # For good is what only `approvals` can say.
            asking = tasks.start(asker.ask(replace(question, offers=("once",))))
            await asyncio.wait((asking, deciding), return_when=asyncio.FIRST_COMPLETED)
            if not deciding.done() and asking.exception() is None:
                answer: Answer | None = asking.result()
                if answer is not None and answer.verdict in ("approved", "denied"):
                    return answer
            # It was put aside there; it still waits here.
            return await deciding

    def _asker(self) -> Asker | None:
        """Who can ask whoever made the call, where it is plain which call it is."""
        channel, attendants = self.channel(), self._attendants()
        if channel is not None:
            return None if attendants else asker_of(channel)
        return attendants[0].asker if len(attendants) == 1 else None

    async def _keep_telling(self, question: Question, where: str) -> None:
        """Say in the call under way what it waits for. Who is told waits longer."""
        began = time.monotonic()
        while True:
            if (channel := self.channel()) is not None:
                channel.report(
                    round(time.monotonic() - began, 1),
                    message=(
                        f"{question.tool} wants to reach {where}, which is not on its list; "
                        f"the user can type `switchboard approvals approve {question.id}`"
                    ),
                )
            await asyncio.sleep(_TELL_S)

    def _question(self, where: str) -> Question:
        subject, now = self._subject, time.time()
        bound = f"{subject.server}\0{subject.bound}\0{subject.cwd}\0{where}"
        question = Question(
            id=new_id(),
            digest=hashlib.sha256(bound.encode("utf-8", "surrogatepass")).hexdigest(),
            session_id=f"{HOST_SESSION}{subject.server}",
            call_id="",
            tool=subject.server,
            wish=f"{named(subject.server)} wants to reach a host that is not on its list",
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
        asked = ApprovalAsked(
            call_id="",
            session_id=question.session_id,
            tool=question.tool,
            approval_id=question.id,
            digest=question.digest,
            risk=question.risk.level,
            host=question.host,
        )
        self._events.emit(asked)
        for each in self._attendants():
            each.hear(asked)

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


def _reason(answer: Answer) -> str:
    if answer.verdict == "approved":
        return ""
    if answer.verdict == "denied":
        return "never" if answer.extent == "always" else "denied"
    return "unanswered"


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
