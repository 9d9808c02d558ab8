"""Nothing that could do harm runs before a person has agreed to exactly that."""

import asyncio
import contextlib
import time
from typing import Literal, NamedTuple, Protocol

from msgspec.structs import replace

from switchboard.core.calls import Call, Outcome
from switchboard.core.calls import Execution as Place
from switchboard.core.cases import Assessment, Case
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.launches import Launch
from switchboard.core.ports import Next
from switchboard.core.questions import Answer, Asker, Question, Risk
from switchboard.core.questions import Approval as Agreed
from switchboard.core.sessions import Era
from switchboard.core.tasks import TaskSet
from switchboard.pipeline.approval_trail import ApprovalTrail

# Whose answer counts for a call of high risk: anybody's, only one that the client cannot give, or
# nobody's, so that whatever would ask is refused.
ApprovalChannel = Literal["any", "console", "none"]
_CLIENT = "client"
# By another call, which came first.
_USE = "use"
_FOLLOW_S = 1.0
_LOOK_S = 0.1


class Cases(Protocol):
    """Knows what calls would launch, what sessions trust, and how to put a question."""

    def assess(self, call: Call) -> Assessment | None: ...
    def trusted(self, call: Call, launch: Launch) -> str: ...
    def trust(self, call: Call, launch: Launch) -> None: ...
    def distrust(self, launch: Launch) -> None: ...
    def taint(self, call: Call, launch: Launch) -> None: ...
    def open(self, call: Call, assessment: Assessment, changes: tuple[str, ...]) -> Case: ...
    def is_current(self, call: Call, case: Case) -> bool: ...


class Posted(Protocol):
    """A question on the desk, with its answer if it has one."""

    @property
    def question(self) -> Question: ...
    @property
    def answer(self) -> Answer | None: ...


class Desk(Protocol):
    """Keeps questions, and lets each approval be used once."""

    def post(self, question: Question, /) -> Posted: ...
    def decide(self, question_id: str, answer: Answer) -> bool: ...
    def consume(self, question_id: str, digest: str) -> bool: ...
    def answer(self, question_id: str) -> Answer | None: ...
    def withdraw(self, question_id: str) -> None: ...


class Held(Protocol):
    """A definition that was changed and waits."""

    @property
    def id(self) -> str: ...


class Pins(Protocol):
    """Remembers what tools said of themselves."""

    def check(self, launch: Launch, client_pid: int = 0) -> Held | None: ...
    def changes(self, launch: Launch) -> tuple[str, ...]: ...
    def settle(self, launch: Launch) -> None: ...


class Approval:
    """Asks where risk demands it, and passes on what was agreed to, byte for byte."""

    def __init__(
        self,
        cases: Cases,
        desk: Desk,
        pins: Pins,
        trail: ApprovalTrail,
        *,
        fallback: Asker | None = None,
        channel: ApprovalChannel = "any",
    ) -> None:
        """`fallback` asks where the client cannot; without one the answer is no."""
        self._cases = cases
        self._desk = desk
        self._pins = pins
        self._trail = trail
        self._fallback = fallback
        self._channel = channel
        self._tasks = TaskSet()
        # By question, and by call where each call asks for itself.
        self._asking: dict[tuple[str, str], _Asking] = {}
        self._following: dict[str, asyncio.Task[None]] = {}

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        assessment = self._cases.assess(call)
        if assessment is None:
            return await proceed(call)
        launch = assessment.launch
        # Before anything else: the risk itself is read from the definition.
        held = self._pins.check(launch, call.session.client_pid)
        if held is not None:
            self._cases.distrust(launch)
            self._trail.held(call, launch, held.id)
            raise _definition_changed(launch, held)
        call = replace(call, execution=assessment.place)
        if assessment.asks:
            call = await self._agreed(call, assessment)
        if not assessment.is_open_world:
            return await proceed(call)
        try:
            return await proceed(call)
        finally:
            # Errors carry the words of strangers as well as results do.
            self._cases.taint(call, launch)

    async def _agreed(self, call: Call, assessment: Assessment) -> Call:
        """The call as it may run. Raises a fault when it may not."""
        launch = assessment.launch
        if digest := self._cases.trusted(call, launch):
            return _by_trust(call, digest)
        case = self._cases.open(call, assessment, self._pins.changes(launch))
        asker = self._asker(call, assessment.risk)
        posted = self._desk.post(case.question)
        if posted.answer is not None and not self._counts(posted.answer, assessment.risk):
            self._desk.consume(posted.question.id, case.digest)
            posted = self._desk.post(case.question)
        question, answer = posted.question, posted.answer
        if answer is None:
            if question.id == case.question.id:
                self._trail.asked(call, launch, question)
            try:
                answer = await self._ask(call, question, asker)
            except Fault:
                self._follow(_Open(call, launch, case, question))
                raise
            self._desk.decide(question.id, answer)
        answer = self._settled(question, answer)
        self._unfollow(question.id)
        await self._trail.decided(call, launch, case, question, answer)
        if answer.verdict != "approved":
            # Several calls may wait for one answer. If it was for the session, it was for them too.
            if answer.by == _USE and (digest := self._cases.trusted(call, launch)):
                return _by_trust(call, digest)
            raise _refused(call, question, answer)
        # Last, right before it runs: whoever could change something had all this time.
        if not self._cases.is_current(call, case):
            raise _stale(call)
        self._remember(call, launch, question, answer)
        agreed = Agreed(id=question.id, digest=case.digest, mode=answer.extent, channel=answer.by)
        execution = _placed(call.execution, launch, case)
        return replace(call, arguments=case.arguments, execution=execution, approval=agreed)

    def _remember(self, call: Call, launch: Launch, question: Question, answer: Answer) -> None:
        """What a yes means for later calls."""
        if question.changes:
            self._pins.settle(launch)
        if answer.extent == "session" and "session" in question.offers:
            self._cases.trust(call, launch)

    def _asker(self, call: Call, risk: Risk) -> Asker:
        asker = call.asker if self._channel != "none" else None
        if asker is None or (self._channel == "console" and risk.is_high):
            asker = self._fallback
        if asker is None:
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "approval-unavailable",
                f"`{call.tool.name}` needs the approval of a person, and nobody can be asked",
                hint="run it where somebody can be asked; `approval_channel` says who may be",
            )
        return asker

    def _counts(self, answer: Answer, risk: Risk) -> bool:
        """Whether an answer that was given earlier may be used for this call.

        The configuration may have come to demand the console since.
        """
        return answer.by != _CLIENT or self._channel != "console" or not risk.is_high

    async def _ask(self, call: Call, question: Question, asker: Asker) -> Answer:
        """Ask once, however many identical calls wait for the answer.

        A client of the modern era is asked by the answer to its request, and may never come back.
        There each call has to ask for itself, or it would wait for one that is forgotten.
        """
        is_own = asker is call.asker and call.session.era is Era.MODERN
        key = (question.id, call.id if is_own else "")
        asking = self._asking.get(key)
        if asking is None:
            task = self._tasks.start(self._first_answer(question, asker))
            asking = self._asking[key] = _Asking(task)
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        asking.waiting += 1
        try:
            return await asyncio.shield(asking.task)
        except asyncio.CancelledError:
            if asking.waiting == 1 and not asking.task.done():
                asking.task.cancel()
                if not any(other != key and other[0] == question.id for other in self._asking):
                    self._desk.withdraw(question.id)
            raise
        finally:
            asking.waiting -= 1

    async def _first_answer(self, question: Question, asker: Asker) -> Answer:
        """What the asker brings, or what is decided at the desk while it asks."""
        if asker is self._fallback:
            return await _in_time(question, asker)
        asking = self._tasks.start(_in_time(question, asker))
        try:
            while not (await asyncio.wait((asking,), timeout=_LOOK_S))[0]:
                if (decided := self._desk.answer(question.id)) is not None:
                    return decided
            return asking.result()
        finally:
            # The client takes its question back.
            asking.cancel()

    def _follow(self, asked: "_Open") -> None:
        """Tell of the answer also if nobody waits for it any more: silence is one, too."""
        if asked.question.id not in self._following:
            task = self._tasks.start(self._tell(asked))
            self._following[asked.question.id] = task
            task.add_done_callback(lambda _: self._following.pop(asked.question.id, None))

    def _unfollow(self, question_id: str) -> None:
        if task := self._following.get(question_id):
            task.cancel()

    async def _tell(self, asked: "_Open") -> None:
        question = asked.question
        # An approval that is not used by then has expired; one that is was told of by its call.
        end = question.expires_at + (question.expires_at - question.asked_at) + 2 * _FOLLOW_S
        # Whoever could be told that this failed is gone.
        with contextlib.suppress(Fault):
            while time.time() < end:
                answer = self._desk.answer(question.id)
                if answer is not None and answer.verdict != "approved":
                    await self._trail.decided(
                        asked.call, asked.launch, asked.case, question, answer
                    )
                    return
                await asyncio.sleep(_FOLLOW_S)

    def _settled(self, question: Question, answer: Answer) -> Answer:
        """What the desk holds counts, not what an asker says; and an approval counts once."""
        if answer.verdict == "approved" and self._desk.consume(question.id, question.digest):
            return self._desk.answer(question.id) or answer
        if answer.verdict != "approved":
            # Of a yes and a no at the same moment the no counts, and the yes not later either.
            self._desk.consume(question.id, question.digest)
            return answer
        recorded = self._desk.answer(question.id)
        if recorded is None or recorded.verdict == "approved":
            # Approved, and used by another call.
            return replace(answer, verdict="cancelled", by=_USE)
        return recorded


class _Open(NamedTuple):
    """A question that was left open by the call that asked it."""

    call: Call
    launch: Launch
    case: Case
    question: Question


class _Asking:
    """A question under way, and how many calls wait for it."""

    def __init__(self, task: "asyncio.Task[Answer]") -> None:
        self.task = task
        self.waiting = 0


def _by_trust(call: Call, digest: str) -> Call:
    return replace(call, approval=Agreed(id="", digest=digest, mode="session", channel="trust"))


async def _in_time(question: Question, asker: Asker) -> Answer:
    """The answer, or that there was none in time, whatever the asker does."""
    try:
        async with asyncio.timeout(question.expires_at - time.time()):
            return await asker.ask(question)
    except TimeoutError:
        return Answer(verdict="expired", by="time", at=time.time())


def _placed(execution: Place | None, launch: Launch, case: Case) -> Place | None:
    """Where it runs: the folder that was shown, not a link that led there."""
    if execution is None or execution.cwd != launch.cwd:
        return execution
    return replace(execution, cwd=case.cwd)


def _definition_changed(launch: Launch, held: Held) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "definition-changed",
        f"the server has changed `{launch.tool.name}` since it was first seen",
        hint=f"the user can look with `switchboard approvals show {held.id}`, and approve it",
        details={"approval_id": held.id},
    )


def _stale(call: Call) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "approval-stale",
        f"what `{call.tool.name}` would do has changed since it was approved",
        hint="make the call again, and have it approved as it is now",
    )


def _refused(call: Call, question: Question, answer: Answer) -> Fault:
    if answer.by == _USE:
        reason, message = "approval-used", "the approval of `{}` was used by another call"
        hint = "make the call again to ask again"
    elif answer.verdict == "denied":
        reason, message = "approval-denied", "the user does not want `{}` to run"
        hint = "do not try again unless the user asks for it"
    elif answer.verdict == "expired":
        reason, message = "approval-expired", "nobody decided in time whether `{}` may run"
        hint = "make the call again to ask again"
    else:
        reason, message = "approval-cancelled", "the question whether `{}` may run was dismissed"
        hint = "ask the user before making the call again"
    return Fault(
        FaultCode.PERMISSION_DENIED,
        reason,
        message.format(call.tool.name),
        hint=hint,
        details={"approval_id": question.id},
    )
