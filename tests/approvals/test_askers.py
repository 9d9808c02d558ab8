"""The askers that there are, through the contract."""

import asyncio
import time
from pathlib import Path

import pytest

from approvals.asker_contract import AskerContract, a_question
from approvals.ground import decision
from switchboard.approvals.database import Database
from switchboard.approvals.desk import Desk
from switchboard.approvals.desk_asker import DeskAsker
from switchboard.core.faults import Fault
from switchboard.core.questions import Answer, Asker, Extent, NeedsAnswer, Question, Verdict


class TestDeskAsker(AskerContract):
    """A person answers through another connection, as the command line does."""

    @pytest.fixture(autouse=True)
    def _desk(self, tmp_path: Path) -> None:
        self.desk = Desk(Database(str(tmp_path)))
        self.other = Desk(Database(str(tmp_path)))

    def make(self) -> Asker:
        return DeskAsker(self.desk)

    def prepare(self, question: Question) -> None:
        self.desk.post(question)

    async def answer(self, question: Question, verdict: Verdict, extent: Extent) -> None:
        await asyncio.sleep(0.05)
        assert self.other.decide(question.id, decision(verdict, extent))

    async def test_it_wakes_soon_after_the_decision(self) -> None:
        question = a_question()
        self.prepare(question)
        asking = asyncio.ensure_future(self.make().ask(question))
        await asyncio.sleep(0.1)
        self.other.decide(question.id, decision())
        decided = time.monotonic()
        await asking
        # A look each 50 ms, on a machine that is busy.
        assert time.monotonic() - decided < 1.0

    async def test_the_one_who_asks_may_be_less_patient_than_the_desk(self) -> None:
        question = a_question(patience_s=0.1)
        self.prepare(question)
        began = time.monotonic()
        with pytest.raises(Fault, match="has not decided yet"):
            await self.make().ask(question)
        assert time.monotonic() - began < 5
        assert self.desk.answer(question.id) is None

    async def test_a_question_that_nobody_posted_is_not_answered(self) -> None:
        assert (await self.make().ask(a_question("unknown"))).verdict == "expired"


class RetryingAsker:
    """Has the client send the call again, as the modern era does."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self._answers = answers

    async def ask(self, question: Question, /) -> Answer:
        answer = self._answers.get(question.id)
        if answer is None:
            raise NeedsAnswer(question)
        return answer


class TestRetryingAsker(AskerContract):
    """A fake of the modern era, where the answer comes with a second call."""

    @pytest.fixture(autouse=True)
    def _answers(self) -> None:
        self.answers: dict[str, Answer] = {}

    def make(self) -> Asker:
        return RetryingAsker(self.answers)

    def prepare(self, question: Question) -> None:
        """It keeps nothing."""

    async def answer(self, question: Question, verdict: Verdict, extent: Extent) -> None:
        await asyncio.sleep(0)
        self.answers[question.id] = decision(verdict, extent, by="client")
