"""Nothing that could do harm runs before a person has agreed to exactly that."""

import asyncio
import contextlib
import time
from collections import Counter
from typing import Literal

from msgspec.structs import replace

from switchboard.approvals.pins import Pins
from switchboard.approvals.queue import ApprovalQueue
from switchboard.approvals.request import ApprovalRequest, ApprovalRequests
from switchboard.approvals.risk import asks, assess, is_open_world
from switchboard.approvals.trail import ApprovalTrail
from switchboard.approvals.trust import TrustBook, subject_of, words_of
from switchboard.core.calls import Call, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.launches import Launch
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Next
from switchboard.core.questions import USED, Answer, Approval, Asker, Question, Risk
from switchboard.core.sessions import Era
from switchboard.core.stores import Held, Posted

# Whose answer counts for a call of high risk: anybody's, only one that the client cannot give, or
# nobody's, so that whatever would ask is refused.
ApprovalChannel = Literal["any", "console", "none"]
_CLIENT = "client"


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
        self._fallback = fallback
        self._channel = channel
        self._tasks = TaskSet() if tasks is None else tasks
        # By question, and by call where each call asks for itself.
        self._asking: dict[tuple[str, str], _Asking] = {}
        # Digests of questions on their way into the queue: one of them may be there already.
        self._arriving: Counter[str] = Counter()
        self._following: dict[str, asyncio.Task[None]] = {}

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        launch = call.launch
        if launch is None:
            source = words_of(call)
            if source is not None:
                self._trust.taint(call.session, source)
            return await proceed(call)
        # Before anything else: the risk itself is read from the definition.
        if not self._pins.is_known(launch) and (
            held := await self._pins.check(launch, call.session.client_pid)
        ):
            self._trust.drop(subject_of(launch))
            self._trail.held(call, launch, held.id)
            raise _definition_changed(launch, held)
        risk = assess(launch)
        if asks(launch, risk):
            call = await self._agreed(call, launch, risk)
        if not is_open_world(launch):
            return await proceed(call)
        try:
            return await proceed(call)
        finally:
            # Errors carry the words of strangers as well as results do.
            self._trust.taint(call.session, subject_of(launch))

    async def _agreed(self, call: Call, launch: Launch, risk: Risk) -> Call:
        """The call as it may run. Raises a fault when it may not."""
        if digest := self._trusted(call, launch):
            return _by_trust(call, digest)
        request = self._requests.make(call, launch, risk, await self._pins.changes(launch))
        own = request.question
        asker = self._asker(call, risk)
        posted = await self._post(own)
        if posted.answer is not None and not self._counts(posted.answer, risk):
            await self._queue.settle(posted.question, posted.answer)
            posted = await self._post(own)
        # An identical call may have asked already.
        question, answer = posted.question, posted.answer
        request = replace(request, question=question)
        if answer is None:
            if question.id == own.id:
                self._trail.asked(request)
            asked = call.while_asked(question.id) if call.while_asked else contextlib.nullcontext()
            try:
                with asked:
                    answer = await self._ask(call, question, asker)
            except Fault:
                self._follow(request)
                raise
        answer = await self._queue.settle(question, answer)
        self._unfollow(question.id)
        await self._trail.decided(request, answer)
        if answer.verdict != "approved":
            # Several calls may wait for one answer. If it was for the session, it was for them too.
            if answer.by == USED and (digest := self._trusted(call, launch)):
                return _by_trust(call, digest)
            raise _refused(call, question, answer)
        # Last, right before it runs: whoever could change something had all this time.
        current = await self._requests.current(request)
        if current is None:
            raise _stale(call)
        await self._remember(request, answer)
        return replace(
            request.call,
            # In the folder that was shown, not through a link that led there.
            launch=replace(current, cwd=own.facts.cwd),
            approval=Approval(
                id=question.id, digest=own.digest, mode=answer.extent, channel=answer.by
            ),
        )

    def _trusted(self, call: Call, launch: Launch) -> str:
        """The digest of what the session has agreed to, or nothing if it has not agreed to this."""
        digest = self._requests.trust_digest(call, launch)
        return digest if self._trust.holds(call.session, subject_of(launch), digest) else ""

    async def _remember(self, request: ApprovalRequest, answer: Answer) -> None:
        """What a yes means for later calls."""
        call, launch, question = request.call, request.launch, request.question
        if question.changes:
            await self._pins.settle(launch)
        if answer.extent == "session" and "session" in question.offers:
            digest = self._requests.trust_digest(call, launch)
            self._trust.grant(call.session, subject_of(launch), digest)

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
            task.add_done_callback(lambda _: self._forget(key, task))
        asking.waiting += 1
        try:
            return await asyncio.shield(asking.task)
        except asyncio.CancelledError:
            if asking.waiting == 1 and not asking.task.done():
                # At once: who comes now must not wait for what is ending.
                self._forget(key, asking.task)
                asking.task.cancel()
                self._tasks.start(self._withdraw(question))
            raise
        finally:
            asking.waiting -= 1

    def _forget(self, key: tuple[str, str], task: "asyncio.Task[Answer]") -> None:
        if (asking := self._asking.get(key)) and asking.task is task:
            del self._asking[key]

    async def _withdraw(self, question: Question) -> None:
        """Take a question out of the queue, unless an identical call waits for it too.

        Looked at in the step in which the store is told. Who comes later is told by the store.
        """
        is_asked = any(question_id == question.id for question_id, _ in self._asking)
        if not is_asked and question.digest not in self._arriving:
            await self._queue.withdraw(question.id)

    async def _first_answer(self, question: Question, asker: Asker) -> Answer:
        """What the asker brings, or what is decided in the queue while it asks."""
        if asker is self._fallback:
            return await _in_time(question, asker)
        asking = self._tasks.start(_in_time(question, asker))
        deciding = self._tasks.start(self._queue.answer(question))
        try:
            await asyncio.wait((asking, deciding), return_when=asyncio.FIRST_COMPLETED)
            return (asking if asking.done() else deciding).result()
        finally:
            # The client takes its question back.
            asking.cancel()
            deciding.cancel()

    def _follow(self, request: ApprovalRequest) -> None:
        """Tell of the answer also if nobody waits for it any more: silence is one, too."""
        question_id = request.question.id
        if question_id not in self._following:
            task = self._tasks.start(self._tell(request))
            self._following[question_id] = task
            task.add_done_callback(lambda _: self._following.pop(question_id, None))

    def _unfollow(self, question_id: str) -> None:
        if task := self._following.get(question_id):
            task.cancel()

    async def _tell(self, request: ApprovalRequest) -> None:
        # Whoever could be told that this failed is gone.
        with contextlib.suppress(Fault):
            if (answer := await self._queue.end(request.question)) is not None:
                await self._trail.decided(request, answer)

    async def _post(self, question: Question) -> Posted:
        posting = self._tasks.start(self._queue.post(question))
        self._arriving[question.digest] += 1
        try:
            return await asyncio.shield(posting)
        except asyncio.CancelledError:
            self._tasks.start(self._take_back(posting))
            raise
        finally:
            self._arriving[question.digest] -= 1
            if not self._arriving[question.digest]:
                del self._arriving[question.digest]

    async def _take_back(self, posting: "asyncio.Task[Posted]") -> None:
        """Withdraw what a call that was cancelled has put into the queue, or has joined there."""
        # Whoever could be told that this failed is gone.
        with contextlib.suppress(Fault):
            await self._withdraw((await posting).question)


class _Asking:
    """A question under way, and how many calls wait for it."""

    def __init__(self, task: "asyncio.Task[Answer]") -> None:
        self.task = task
        self.waiting = 0


def _by_trust(call: Call, digest: str) -> Call:
    return replace(call, approval=Approval(id="", digest=digest, mode="session", channel="trust"))


async def _in_time(question: Question, asker: Asker) -> Answer:
    """The answer, or that there was none in time, whatever the asker does."""
    try:
        async with asyncio.timeout(question.expires_at - time.time()):
            return await asker.ask(question)
    except TimeoutError:
        return Answer(verdict="expired", by="time", at=time.time())


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
    wish = call.launch.wish if call.launch is not None else None
    what = f"`{call.tool.name}`" if wish is None else wish.noun
    may = f"{what} may run" if wish is None else f"{what} is allowed"
    if answer.by == USED:
        reason, message = "approval-used", f"the approval of {what} was used by another call"
        hint = "make the call again to ask again"
    elif answer.verdict == "denied":
        reason, hint = "approval-denied", "do not try again unless the user asks for it"
        message = f"the user does not want {what} to run"
        if wish is not None:
            message = f"the user does not allow {what}"
    elif answer.verdict == "expired":
        reason, message = "approval-expired", f"nobody decided in time whether {may}"
        hint = "make the call again to ask again"
    else:
        reason, message = "approval-cancelled", f"the question whether {may} was dismissed"
        hint = "ask the user before making the call again"
    return Fault(
        FaultCode.PERMISSION_DENIED,
        reason,
        message,
        hint=hint,
        details={"approval_id": question.id},
    )
