"""Hosts that are not on the list, and what a person says of them: once, always, never."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from egress.world import Heard
from switchboard.approvals.approver import Approver
from switchboard.control.decisions import Decisions
from switchboard.control.requests import DecideRequest
from switchboard.core.faults import Fault
from switchboard.core.questions import Extent, Question
from switchboard.daemon.board.egress_questions import EgressQuestions, EgressSubject
from switchboard.daemon.board.guard import Guard
from switchboard.egress.decisions import EgressDecisions

SUBJECT = EgressSubject(
    server="tool", runs="tool --x", shown="tool --x", cwd="/", hosts=("api.test",)
)


class Asked:
    """Questions of a child, in a real queue on a real disk."""

    def __init__(self, home: Path, guard: Guard) -> None:
        self.home = home
        self.guard = guard
        self.clients: list[int] = []

    def of(self, subject: EgressSubject = SUBJECT, wait_s: float = 20.0) -> EgressQuestions:
        return EgressQuestions(
            subject,
            EgressDecisions(str(self.home)),
            self.guard.queue,
            audit=self.guard.audit,
            events=Heard(),
            clients=lambda: self.clients,
            wait_s=wait_s,
        )

    async def waiting(self) -> list[Question]:
        for _ in range(400):
            if found := [each.question for each in await self.guard.approvals.waiting()]:
                return found
            await asyncio.sleep(0.02)
        raise AssertionError("nobody was asked")

    async def decide(self, *, approves: bool, extent: Extent = "once") -> Question:
        (question,) = await self.waiting()
        wanted = DecideRequest(id=question.id, approves=approves, extent=extent)
        decisions = Decisions(self.guard.approvals, self.guard.audit)
        await decisions.decide(wanted, Approver.of_this_process())
        return question


@asynccontextmanager
async def asked(home: Path) -> AsyncGenerator[Asked]:
    guard = Guard(str(home), Heard())
    try:
        yield Asked(home, guard)
    finally:
        await guard.aclose()


@pytest.mark.parametrize("approves", [True, False])
async def test_an_answer_for_good_is_kept_and_asks_no_more(
    tmp_path: Path, *, approves: bool
) -> None:
    async with asked(tmp_path) as world:
        first = asyncio.ensure_future(world.of().may_reach("new.test", 443))
        question = await world.decide(approves=approves, extent="always")
        assert "new.test:443" in question.prompt
        assert question.offers == ("once", "always")
        assert await first is approves
        # Another process of the same server, another day.
        assert await world.of().may_reach("new.test", 443) is approves
        assert await world.guard.approvals.waiting() == []
        # What runs is another program now, or the port is another: nothing was said of that.
        changed = EgressSubject(server="tool", runs="tool --y", shown="", cwd="/", hosts=())
        assert await world.of(changed, 0.1).may_reach("new.test", 443) is False
        assert await world.of(wait_s=0.1).may_reach("new.test", 22) is False
        assert EgressDecisions(str(tmp_path)).forget("tool", "new.test:443")
        assert EgressDecisions(str(tmp_path)).find("tool", "tool --x", "new.test:443") is None


async def test_once_is_once_and_one_question_is_for_all_who_wait(tmp_path: Path) -> None:
    async with asked(tmp_path) as world:
        questions = world.of()
        waiting = [asyncio.ensure_future(questions.may_reach("new.test", 443)) for _ in range(5)]
        await world.decide(approves=True)
        assert await asyncio.gather(*waiting) == [True] * 5
        again = asyncio.ensure_future(questions.may_reach("new.test", 443))
        await world.decide(approves=False)
        assert await again is False
        # After a no there is peace for a while.
        assert await questions.may_reach("new.test", 443) is False
        assert await world.guard.approvals.waiting() == []


async def test_silence_is_a_no_and_a_flood_asks_a_few_times_only(tmp_path: Path) -> None:
    async with asked(tmp_path) as world:
        questions = world.of(wait_s=0.2)
        hosts = [questions.may_reach(f"h{number}.test", 443) for number in range(40)]
        assert not any(await asyncio.gather(*hosts))
        posted = await world.guard.approvals.recent()
        assert len(posted) <= 3


async def test_a_client_that_is_served_cannot_say_yes(tmp_path: Path) -> None:
    """An agent with a shell could type the command; its own descent gives it away."""
    async with asked(tmp_path) as world:
        world.clients = [os.getpid()]
        wanted = asyncio.ensure_future(world.of(wait_s=2.0).may_reach("new.test", 443))
        with pytest.raises(Fault) as caught:
            await world.decide(approves=True, extent="always")
        assert caught.value.reason == "own-approval"
        await world.decide(approves=False)
        assert await wanted is False
