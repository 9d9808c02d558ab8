"""Hosts that are not on the list, and what a person says of them: once, always, never."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from egress.world import Heard
from switchboard.approvals.approver import Approver
from switchboard.control.decisions import Decisions
from switchboard.control.requests import DecideRequest
from switchboard.core.events import ApprovalAsked
from switchboard.core.faults import Fault
from switchboard.core.questions import Answer, Extent, Question, Verdict
from switchboard.daemon.board.egress_questions import Attendant, EgressQuestions, EgressSubject
from switchboard.daemon.board.guard import Guard
from switchboard.egress.answers.asked_before import MOST_QUESTIONS, AskedBefore
from switchboard.egress.answers.decisions import EgressDecisions
from switchboard.egress.refusals import EgressRefusal

SUBJECT = EgressSubject(
    server="tool", bound="tool --x", shown="tool --x", cwd="/", hosts=("api.test",)
)


class Asked:
    """Questions of a child, in a real queue on a real disk."""

    def __init__(self, home: Path, guard: Guard) -> None:
        self.home = home
        self.guard = guard
        self.clients: list[int] = []
        self.before = AskedBefore()

    def of(
        self, subject: EgressSubject = SUBJECT, wait_s: float = 20.0, **more: Any
    ) -> EgressQuestions:
        return EgressQuestions(
            subject,
            EgressDecisions(str(self.home)),
            self.guard.queue,
            audit=self.guard.audit,
            events=Heard(),
            clients=lambda: self.clients,
            wait_s=wait_s,
            **cast("dict[str, Any]", {"before": self.before, **more}),
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
        decisions = Decisions(self.guard.approvals, self.guard.audit, str(self.home))
        await decisions.decide(wanted, Approver.of_this_process())
        return question


async def why(questions: EgressQuestions, host: str = "new.test", port: int = 443) -> str:
    """Why a host may not be reached; nothing where it may."""
    try:
        await questions.ask(host, port)
    except EgressRefusal as refused:
        return refused.why if host in refused.says else f"not about {host}: {refused.says}"
    return ""


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
        first = asyncio.ensure_future(why(world.of()))
        question = await world.decide(approves=approves, extent="always")
        assert "new.test:443" in question.prompt
        assert question.offers == ("once", "always")
        said = "" if approves else "never"
        assert await first == said
        # Another process of the same server, another day.
        assert await why(world.of(before=AskedBefore())) == said
        assert await world.guard.approvals.waiting() == []
        # What runs is another program now, or the port is another: nothing was said of that.
        changed = EgressSubject(server="tool", bound="tool --y", shown="", cwd="/", hosts=())
        assert await why(world.of(changed, 0.1, before=AskedBefore())) == "unanswered"
        assert await why(world.of(wait_s=0.1), port=22) == "unanswered"
        assert EgressDecisions(str(tmp_path)).forget("tool", "new.test:443")
        assert EgressDecisions(str(tmp_path)).find("tool", "tool --x", "new.test:443") is None


def test_what_was_decided_for_one_command_line_outlives_an_answer_for_another(
    tmp_path: Path,
) -> None:
    decisions = EgressDecisions(str(tmp_path))
    decisions.put("tool", "tool --x", "evil.test:443", allowed=False)
    decisions.put("tool", "tool --y", "good.test:443", allowed=True)
    assert decisions.find("tool", "tool --x", "evil.test:443") is False
    assert decisions.find("tool", "tool --y", "evil.test:443") is None
    assert decisions.hosts() == {"tool": {"evil.test:443": False, "good.test:443": True}}


@pytest.mark.parametrize("mode", [0o602, 0o666])
def test_a_file_of_decisions_that_others_can_write_decides_nothing(
    tmp_path: Path, mode: int
) -> None:
    decisions = EgressDecisions(str(tmp_path))
    decisions.put("tool", "tool --x", "evil.test:443", allowed=True)
    (tmp_path / "egress.json").chmod(mode)
    assert decisions.find("tool", "tool --x", "evil.test:443") is None
    assert decisions.hosts() == {}


def test_a_link_or_an_open_folder_decides_nothing_either(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    for each in (home, other):
        each.mkdir()
        EgressDecisions(str(each)).put("tool", "tool --x", "evil.test:443", allowed=True)
    (home / "egress.json").unlink()
    (home / "egress.json").symlink_to(other / "egress.json")
    assert EgressDecisions(str(home)).hosts() == {}
    other.chmod(0o777)
    assert EgressDecisions(str(other)).hosts() == {}


async def test_once_is_once_and_one_question_is_for_all_who_wait(tmp_path: Path) -> None:
    async with asked(tmp_path) as world:
        questions = world.of()
        waiting = [asyncio.ensure_future(why(questions)) for _ in range(5)]
        await world.decide(approves=True)
        assert await asyncio.gather(*waiting) == [""] * 5
        again = asyncio.ensure_future(why(questions))
        await world.decide(approves=False)
        assert await again == "denied"
        # After a no there is peace for a while, also for the next process.
        assert await why(questions) == "denied"
        assert await why(world.of()) == "denied"
        assert await world.guard.approvals.waiting() == []
        # Unless the person wants to be asked.
        assert world.before.forget("new.test:443")
        assert not world.before.forget("new.test:443")
        once_more = asyncio.ensure_future(why(world.of()))
        await world.decide(approves=True)
        assert await once_more == ""


async def test_silence_is_no_answer_and_the_next_try_asks_again(tmp_path: Path) -> None:
    async with asked(tmp_path) as world:
        assert await why(world.of(wait_s=0.1)) == "unanswered"
        assert await world.guard.approvals.waiting() == []
        again = asyncio.ensure_future(why(world.of()))
        await world.decide(approves=True)
        assert await again == ""


async def test_a_flood_asks_a_few_times_only_however_often_it_starts_anew(tmp_path: Path) -> None:
    async with asked(tmp_path) as world:
        hosts = [why(world.of(wait_s=0.2), f"h{number}.test") for number in range(40)]
        reasons = await asyncio.gather(*hosts)
        assert set(reasons) == {"unanswered", "not-asked", "too-many-questions"}
        assert reasons.count("too-many-questions") == 40 - MOST_QUESTIONS
        posted = await world.guard.approvals.recent()
        assert len(posted) <= 3


async def test_a_question_goes_with_the_process_that_asked(tmp_path: Path) -> None:
    async with asked(tmp_path) as world:
        questions = world.of()
        waiting = asyncio.ensure_future(why(questions))
        await world.waiting()
        await questions.aclose()
        await asyncio.gather(waiting, return_exceptions=True)
        assert await world.guard.approvals.waiting() == []


async def test_where_nobody_may_be_asked_nobody_is(tmp_path: Path) -> None:
    async with asked(tmp_path) as world:
        assert await why(world.of(answering="none")) == "not-asked"
        assert await world.guard.approvals.recent() == []


class Typed:
    """A person at the terminal of the command that calls."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict: Verdict = verdict
        self.shown: list[Question] = []

    async def ask(self, question: Question, /) -> Answer:
        self.shown.append(question)
        return Answer(verdict=self.verdict, by="client", at=0.0)


@pytest.mark.parametrize(("verdict", "said"), [("approved", ""), ("denied", "denied")])
async def test_whoever_called_at_a_terminal_is_asked_there(
    tmp_path: Path, verdict: Verdict, said: str
) -> None:
    heard: list[ApprovalAsked] = []
    person = Typed(verdict)
    attendants = (Attendant(heard.append, person),)
    async with asked(tmp_path) as world:
        assert await why(world.of(attendants=lambda: attendants)) == said
        (question,) = person.shown
        # For good can be said in the queue alone.
        assert question.offers == ("once",)
        assert [(each.host, each.approval_id) for each in heard] == [("new.test:443", question.id)]
        assert EgressDecisions(str(tmp_path)).hosts() == {}
        # Where the configuration wants the console, the terminal of the call does not count.
        console = world.of(
            attendants=lambda: attendants, answering="console", wait_s=0.1, before=AskedBefore()
        )
        assert await why(console) == "unanswered"
        # Of two calls nobody knows which one it is for.
        two = world.of(attendants=lambda: attendants * 2, wait_s=0.1, before=AskedBefore())
        assert await why(two) == "unanswered"
        assert len(person.shown) == 1


async def test_a_client_that_is_served_cannot_say_yes(tmp_path: Path) -> None:
    """An agent with a shell could type the command; its own descent gives it away."""
    async with asked(tmp_path) as world:
        world.clients = [os.getpid()]
        wanted = asyncio.ensure_future(why(world.of(wait_s=2.0)))
        with pytest.raises(Fault) as caught:
            await world.decide(approves=True, extent="always")
        assert caught.value.reason == "own-approval"
        await world.decide(approves=False)
        assert await wanted == "denied"
