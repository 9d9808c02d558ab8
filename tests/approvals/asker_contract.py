"""What every asker keeps to. A test module of an asker inherits from `AskerContract`.

The subclass says how the asker is made and how a person answers through it.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from typing import Any

import pytest
from msgspec.structs import replace

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import (
    Answer,
    Asker,
    Extent,
    Facts,
    Question,
    Risk,
    Verdict,
)

PATIENCE = 10.0


def a_question(
    question_id: str = "abcdefgh",
    *,
    digest: str = "d1",
    session: str = "session",
    patience_s: float = PATIENCE,
    expires_in_s: float = 60.0,
    **more: Any,
) -> Question:
    now = time.time()
    question = Question(
        id=question_id,
        digest=digest,
        session_id=session,
        call_id="call-1",
        tool="wipe",
        facts=Facts(server="notes", runs="node notes.js", cwd="/workspace"),
        risk=Risk(level="high", reasons=("it writes",)),
        offers=("once", "session"),
        prompt="WRITES · notes.wipe · no sandbox · /workspace",
        asked_at=now,
        expires_at=now + expires_in_s,
        patience_s=patience_s,
    )
    return replace(question, **more)


async def outcome_of(asker: Asker, question: Question) -> Answer | Fault | None:
    """Give the answer, or the fault."""
    try:
        return await asker.ask(question)
    except Fault as fault:
        return fault


class AskerContract(ABC):
    """Everything that the approval gate relies on."""

    @abstractmethod
    def make(self) -> Asker:
        """Make the asker, ready for `a_question()`."""

    @abstractmethod
    async def answer(self, question: Question, verdict: Verdict, extent: Extent) -> None:
        """Let a person answer, as soon as they can."""

    @abstractmethod
    async def prepare(self, question: Question) -> None:
        """Do what the gate does before it asks."""

    async def _asked(self, question: Question, verdict: Verdict, extent: Extent = "once") -> Answer:
        """Ask, answer, and give what the asker makes of it."""
        asker = self.make()
        await self.prepare(question)
        async with asyncio.timeout(PATIENCE):
            answering = asyncio.ensure_future(self.answer(question, verdict, extent))
            outcome = await outcome_of(asker, question)
            await answering
        assert isinstance(outcome, Answer)
        return outcome

    @pytest.mark.parametrize("verdict", ["approved", "denied", "cancelled"])
    async def test_it_gives_what_was_decided(self, verdict: Verdict) -> None:
        answer = await self._asked(a_question(), verdict)
        assert answer.verdict == verdict
        assert answer.by
        assert abs(answer.at - time.time()) < PATIENCE

    @pytest.mark.parametrize("extent", ["once", "session"])
    async def test_it_tells_how_much_was_agreed_to(self, extent: Extent) -> None:
        assert (await self._asked(a_question(), "approved", extent)).extent == extent

    async def test_silence_is_never_an_approval_and_never_for_ever(self) -> None:
        question = a_question(patience_s=0.2, expires_in_s=0.4)
        asker = self.make()
        await self.prepare(question)
        async with asyncio.timeout(PATIENCE):
            outcome = await outcome_of(asker, question)
        match outcome:
            case Answer():
                assert outcome.verdict in {"expired", "denied", "cancelled"}
            case Fault():
                assert outcome.code is FaultCode.PERMISSION_DENIED
                assert outcome.reason == "approval-required"
                assert outcome.details["approval_id"] == question.id
                assert question.id in outcome.hint
            case None:
                raise AssertionError("nobody answered, so no program did")

    async def test_it_can_be_cancelled(self) -> None:
        question = a_question()
        asker = self.make()
        await self.prepare(question)
        task = asyncio.ensure_future(asker.ask(question))
        await asyncio.sleep(0.02)
        task.cancel()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(asyncio.CancelledError):
                await task
