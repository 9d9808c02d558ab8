"""Nothing that could do harm runs before a person has agreed to exactly that."""

import contextlib
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from switchboard.approvals.heard import HeardChannel
from switchboard.approvals.lasting.rules import LastingRules
from switchboard.approvals.open_questions import OpenQuestions
from switchboard.approvals.pins import Pins
from switchboard.approvals.queue import ApprovalQueue
from switchboard.approvals.refusals import definition_changed, refused, stale, unavailable
from switchboard.approvals.request import ApprovalRequest, ApprovalRequests
from switchboard.approvals.risk import asks, assess, is_open_world
from switchboard.approvals.trail import ApprovalTrail
from switchboard.approvals.trust import Subject, TrustBook, subject_of, words_of
from switchboard.core.calls.borrowed import Quoted
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.people import key_of
from switchboard.core.ports import Next
from switchboard.core.questions import BY_CLIENT, USED, Answer, Approval, Asker, Risk

# Whose answer counts for a call that must ask: anybody's, only one that the client cannot give, or
# nobody's, so that whatever would ask is refused.
ApprovalChannel = Literal["any", "console", "none"]


_MOST_JUDGEMENTS = 256


class _Judgement(Struct, frozen=True):
    """All that follows from a launch alone."""

    risk: Risk
    asks: bool
    is_open_world: bool
    subject: Subject


class ApprovalGate:
    """Asks where risk demands it, and passes on what was agreed to, byte for byte."""

    def __init__(
        self,
        requests: ApprovalRequests,
        trust: TrustBook,
        queue: ApprovalQueue,
        pins: Pins,
        trail: ApprovalTrail,
        *,
        rules: LastingRules,
        fallback: Asker | None = None,
        channel: ApprovalChannel = "any",
        tasks: TaskSet | None = None,
    ) -> None:
        """`fallback` asks where the client cannot; without one the answer is no.

        `tasks` end with whoever owns the queue: an answer is told of also if the board is gone.
        """
        self._requests = requests
        self._trust = trust
        self._queue = queue
        self._pins = pins
        self._trail = trail
        self._rules = rules
        self._fallback = fallback
        self._channel = channel
        # A server that runs on launches the very same with every call of a tool.
        self._judgements: dict[Launch, _Judgement] = {}
        self._open = OpenQuestions(queue, trail, fallback, TaskSet() if tasks is None else tasks)

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        launch = call.launch
        if launch is None:
            source = words_of(call) if call.quotes is None else _said_again(call.quotes)
            if source is not None:
                self._trust.taint(call.session, source)
            return await proceed(call)
        # Before anything else: the risk itself is read from the definition.
        if not self._pins.is_known(launch) and (
            held := await self._pins.check(launch, call.session.client_pid)
        ):
            self._trust.drop(subject_of(launch))
            self._trail.held(call, launch, held.id)
            raise definition_changed(launch, held)
        judgement = self._judgements.get(launch) or self._judged(launch)
        if judgement.asks:
            call = await self._agreed(call, launch, judgement.risk)
        if not judgement.is_open_world:
            return await self._overheard(call, launch, proceed)
        try:
            return await proceed(call)
        finally:
            # Errors carry the words of strangers as well as results do.
            self._trust.taint(call.session, judgement.subject)

    def _judged(self, launch: Launch) -> "_Judgement":
        risk = assess(launch)
        judgement = _Judgement(risk, asks(launch, risk), is_open_world(launch), subject_of(launch))
        if len(self._judgements) >= _MOST_JUDGEMENTS:
            self._judgements.clear()
        self._judgements[launch] = judgement
        return judgement

    async def _overheard(self, call: Call, launch: Launch, proceed: Next) -> Outcome:
        """Run a tool whose results are its own words, and heed what it says beside them."""
        if not launch.is_foreign:
            return await proceed(call)

        def heard() -> None:
            self._trust.taint(call.session, subject_of(launch))

        if call.channel is not None:
            call = replace(call, channel=HeardChannel(call.channel, heard))
        try:
            outcome = await proceed(call)
        except Fault as fault:
            # It tells what the server said, or wrote to its standard error.
            if fault.reason.startswith("child-"):
                heard()
            raise
        if outcome.is_error:
            heard()
        return outcome

    async def _agreed(self, call: Call, launch: Launch, risk: Risk) -> Call:
        """The call as it may run. Raises a fault when it may not."""
        if covered := await self._covered(call, launch):
            return covered
        risk = self._rules.noted(launch, risk)
        request = self._requests.make(call, launch, risk, await self._pins.changes(launch))
        own = request.question
        asker = self._asker(call, risk)
        posted = await self._open.post(own)
        if posted.answer is not None and not self._counts(posted.answer, risk):
            await self._queue.settle(posted.question, posted.answer)
            posted = await self._open.post(own)
        # An identical call may have asked already.
        question, answer = posted.question, posted.answer
        request = replace(request, question=question)
        if answer is None:
            if question.id == own.id:
                self._trail.asked(request)
            key = self._open.key(call, question, asker)
            asked = call.while_asked(question.id) if call.while_asked else contextlib.nullcontext()
            # Wherever it is answered, what passes now is the time of a person.
            call.clock.pause()
            try:
                with asked:
                    answer = await self._open.ask(key, question, asker, call.channel)
            except Fault:
                self._open.follow(request)
                raise
            finally:
                call.clock.resume()
        answer = await self._queue.settle(question, answer)
        self._open.unfollow(question.id)
        await self._trail.decided(request, answer)
        if call.on_decided is not None:
            call.on_decided(answer)
        if answer.verdict != "approved":
            # Several calls may wait for one answer. If it was for more, it was for them too.
            if answer.by == USED and (covered := await self._covered(call, launch)):
                return covered
            raise refused(call, question, answer)
        # Last, right before it runs: whoever could change something had all this time.
        current = await self._requests.current(request)
        if current is None:
            raise stale(call)
        await self._remember(request, answer)
        return replace(
            request.call,
            # In the folder that was shown, not through a link that led there.
            launch=replace(current, cwd=own.facts.cwd),
            approval=Approval(
                id=question.id, digest=own.digest, mode=answer.extent, channel=answer.by
            ),
        )

    async def _covered(self, call: Call, launch: Launch) -> Call | None:
        """The call, if an earlier answer holds for it: one of the session, or a lasting one."""
        digest = self._requests.trust_digest(call, launch)
        if self._trust.holds(call.session, subject_of(launch), digest):
            approval = Approval(id="", digest=digest, mode="session", channel="trust")
        elif rule := await self._rules.find(launch, key_of(call.session.person)):
            approval = Approval(id=rule, digest=digest, mode="always", channel="rule")
        else:
            return None
        return replace(call, approval=approval)

    async def _remember(self, request: ApprovalRequest, answer: Answer) -> None:
        """What a yes means for later calls."""
        call, launch, question = request.call, request.launch, request.question
        if question.changes:
            await self._pins.settle(launch)
        if answer.extent == "session" and "session" in question.offers:
            digest = self._requests.trust_digest(call, launch)
            self._trust.grant(call.session, subject_of(launch), digest)
        if answer.extent == "always" and "always" in question.offers:
            await self._rules.add(launch, answer, key_of(call.session.person))

    def _asker(self, call: Call, risk: Risk) -> Asker:
        asker = call.asker if self._channel != "none" else None
        if asker is None or (self._channel == "console" and risk.must_ask):
            asker = self._fallback
        if asker is None:
            raise unavailable(call.tool.name)
        return asker

    def _counts(self, answer: Answer, risk: Risk) -> bool:
        """Whether an answer that was given earlier may be used for this call.

        The configuration may have come to demand the console since.
        """
        return answer.by != BY_CLIENT or self._channel != "console" or not risk.must_ask


def _said_again(quoted: Quoted) -> Subject | None:
    """Whose words are read again with a kept result; nothing if they were no stranger's."""
    launch = quoted.launch
    is_strange = is_open_world(launch) or (launch.is_foreign and quoted.is_error)
    return subject_of(launch) if is_strange else None
