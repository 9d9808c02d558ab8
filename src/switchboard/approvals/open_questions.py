"""Questions under way: each is asked once, however many identical calls wait for its answer."""

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from functools import partial

from msgspec.structs import replace

from switchboard.approvals.queue import ApprovalQueue
from switchboard.approvals.refusals import UNDECIDED, too_many, unattended, unavailable
from switchboard.approvals.request import ApprovalRequest
from switchboard.approvals.trail import ApprovalTrail
from switchboard.core.calls.call import Call
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.loop.joined import Joined
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.questions import UNATTENDED, Answer, Asker, Question
from switchboard.core.sessions import Era
from switchboard.core.stores import Posted

# Of calls that each ask for themselves. The answer runs one of them; a client that repeats a call
# without end fills neither our memory nor the table of calls that wait for their clients.
MOST_ON_ONE_QUESTION = 16
# How often those who wait for the queue are told so: clients that hear nothing give up.
TELL_S = 10.0


class OpenQuestions:
    """Puts questions to people, and takes them back once no call waits any more."""

    def __init__(
        self, queue: ApprovalQueue, trail: ApprovalTrail, fallback: Asker | None, tasks: TaskSet
    ) -> None:
        """`fallback` asks where the client cannot, or has answered without its user."""
        self._queue = queue
        self._trail = trail
        self._fallback = fallback
        self._tasks = tasks
        # By question, and by call where each call asks for itself.
        self._asking: Joined[tuple[str, str], Answer] = Joined(tasks)
        # By question: one look at the store for all calls that wait for it.
        self._deciding: Joined[str, Answer | None] = Joined(tasks)
        # Digests of questions on their way into the queue: one of them may be there already.
        self._arriving: Counter[str] = Counter()
        self._following: dict[str, asyncio.Task[None]] = {}
        # By question: the ways to those who wait for it.
        self._waiting: dict[str, list[Channel]] = {}

    async def post(self, question: Question) -> Posted:
        """Put a question into the queue, or find the one that is there."""
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

    def key(self, call: Call, question: Question, asker: Asker) -> tuple[str, str]:
        """Which calls ask together. Raises a fault where too many ask for themselves.

        A client of the modern era is asked by the answer to its request, and may never come back.
        There each call has to ask for itself, or it would wait for one that is forgotten.
        """
        if asker is not call.asker or call.session.era is not Era.MODERN:
            return question.id, ""
        if [each for each, _ in self._asking].count(question.id) >= MOST_ON_ONE_QUESTION:
            raise too_many(call, question, MOST_ON_ONE_QUESTION)
        return question.id, call.id

    async def ask(
        self,
        key: tuple[str, str],
        question: Question,
        asker: Asker,
        channel: Channel | None = None,
    ) -> Answer:
        """Ask once, however many identical calls wait for the answer.

        `channel` leads to the client, which is told when its call waits in the queue.
        """
        waiting = self._waiting.setdefault(question.id, [])
        if channel is not None:
            waiting.append(channel)
        try:
            return await self._asking.wait(
                key,
                lambda: self._first_answer(question, asker),
                on_left=lambda: self._tasks.start(self._withdraw(question)),
            )
        finally:
            if channel is not None:
                waiting.remove(channel)
            if not waiting:
                self._waiting.pop(question.id, None)

    def follow(self, request: ApprovalRequest) -> None:
        """Tell of the answer also if nobody waits for it any more: silence is one, too."""
        question_id = request.question.id
        if question_id not in self._following:
            task = self._tasks.start(self._tell(request))
            self._following[question_id] = task
            task.add_done_callback(lambda _: self._following.pop(question_id, None))

    def unfollow(self, question_id: str) -> None:
        """Somebody tells of the answer."""
        if task := self._following.get(question_id):
            task.cancel()

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
            answer = await self._queued(question, asker)
        else:
            asking = self._tasks.start(_in_time(question, asker))
            look = partial(self._queue.answer, question)
            deciding = self._tasks.start(self._deciding.wait(question.id, look))
            try:
                await asyncio.wait((asking, deciding), return_when=asyncio.FIRST_COMPLETED)
                answer = (asking if asking.done() else deciding).result()
            finally:
                # The client takes its question back.
                asking.cancel()
                deciding.cancel()
        return answer if answer is not None else await self._unattended(question)

    async def _unattended(self, question: Question) -> Answer:
        """A program has answered, and no person: the question waits in the queue."""
        answer = None
        if self._fallback is not None:
            try:
                answer = await self._queued(question, self._fallback)
            except Fault as fault:
                raise (
                    unattended(fault, question) if fault.reason == UNDECIDED else fault
                ) from fault
        if answer is None:
            raise unavailable(question.tool, "its client answered without asking its user")
        return replace(answer, by=UNATTENDED) if answer.verdict == "expired" else answer

    async def _queued(self, question: Question, asker: Asker) -> Answer | None:
        """Wait for the queue, and have those who wait know it."""
        telling = self._tasks.start(self._keep_telling(question))
        try:
            return await _in_time(question, asker)
        finally:
            telling.cancel()

    async def _keep_telling(self, question: Question) -> None:
        said = f"waiting for a person: switchboard approvals approve {question.id}"
        for count in itertools.count(1):
            for channel in self._waiting.get(question.id, ()):
                # So little that whatever the tool itself tells of its progress is more.
                channel.report(count / 1_000, message=said)
            await asyncio.sleep(TELL_S)

    async def _tell(self, request: ApprovalRequest) -> None:
        # Whoever could be told that this failed is gone.
        with contextlib.suppress(Fault):
            if (answer := await self._queue.end(request.question)) is not None:
                await self._trail.decided(request, answer)

    async def _take_back(self, posting: "asyncio.Task[Posted]") -> None:
        """Withdraw what a call that was cancelled has put into the queue, or has joined there."""
        # Whoever could be told that this failed is gone.
        with contextlib.suppress(Fault):
            await self._withdraw((await posting).question)


async def _in_time(question: Question, asker: Asker) -> Answer | None:
    """The answer, or that there was none in time, whatever the asker does."""
    try:
        async with asyncio.timeout(question.expires_at - time.time()):
            return await asker.ask(question)
    except TimeoutError:
        return Answer(verdict="expired", by="time", at=time.time())
