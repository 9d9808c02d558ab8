"""The askers that there are, through the contract."""

import asyncio
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from approvals.asker_contract import AskerContract, a_question
from approvals.ground import decision
from support.reading import read_it
from switchboard.approvals.queue import ApprovalQueue
from switchboard.approvals.queue_asker import QueueAsker
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.core.calls.receipts import Receipt
from switchboard.core.faults import Fault
from switchboard.core.questions import Asker, Extent, Question, Verdict
from switchboard.core.sessions import Era, Session
from switchboard.surface.asking.askers import ChannelAsker
from switchboard.surface.asking.unattended import READING_S
from switchboard.surface.channel import ClientChannel
from switchboard.surface.suspended_calls import SuspendedCall
from switchboard.wire.messages import MessageId, Parts


class TestQueueAsker(AskerContract):
    """A person answers through another connection, as the command line does."""

    @pytest.fixture(autouse=True)
    def _queue(self, tmp_path: Path) -> None:
        self.queue = ApprovalQueue(SqliteApprovals(str(tmp_path)), ProcessOwners())
        self.other = SqliteApprovals(str(tmp_path))

    def make(self) -> Asker:
        return QueueAsker(self.queue)

    async def prepare(self, question: Question) -> None:
        await self.queue.post(question)

    async def answer(self, question: Question, verdict: Verdict, extent: Extent) -> None:
        await asyncio.sleep(0.05)
        assert await self.other.decide(question.id, decision(verdict, extent))

    async def test_it_wakes_soon_after_the_decision(self) -> None:
        question = a_question()
        await self.prepare(question)
        asking = asyncio.ensure_future(self.make().ask(question))
        await asyncio.sleep(0.1)
        await self.other.decide(question.id, decision())
        decided = time.monotonic()
        await asking
        # A look each 50 ms, on a machine that is busy.
        assert time.monotonic() - decided < 1.0

    async def test_the_one_who_asks_may_be_less_patient_than_the_queue(self) -> None:
        question = a_question(patience_s=0.1)
        await self.prepare(question)
        began = time.monotonic()
        with pytest.raises(Fault, match="has not decided yet"):
            await self.make().ask(question)
        assert time.monotonic() - began < 5
        assert await self.queue.store.answer(question.id) is None

    async def test_a_question_that_nobody_posted_is_not_answered(self) -> None:
        answer = await self.make().ask(a_question("unknown"))
        assert answer is not None
        assert answer.verdict == "expired"


CHOICES: dict[Verdict, dict[str, object]] = {
    "denied": {"action": "decline"},
    "cancelled": {"action": "cancel"},
}


def reply(verdict: Verdict, extent: Extent) -> Raw:
    """Give what a client sends when its user has chosen."""
    chosen = {"action": "accept", "content": {} if extent == "once" else {"remember": extent}}
    return Raw(json.dumps(CHOICES.get(verdict, chosen)).encode())


class Form:
    """A client of the handshake era that shows one form and waits for its user."""

    def __init__(self) -> None:
        self.held: dict[MessageId, Receipt] = {}
        self.replied: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self.shown: list[Any] = []
        # How long its user takes; nothing for a program that answers by itself.
        self.reads_s = self.then_reads_s = READING_S

    def notify(self, method: str, params: Parts, /) -> None:
        raise AssertionError(f"{method} {params}")

    @property
    def is_pressed(self) -> bool:
        return False

    async def relieved(self) -> None:
        """It reads at once."""

    def when_answered(self, message_id: MessageId, tell: Callable[[], None], /) -> None:
        """Nobody here wants to know."""

    def when_told(self, tell: Callable[[], None], /) -> None:
        """Nobody here wants to know."""

    async def request(self, method: str, params: Parts, /) -> Raw:
        assert method == "elicitation/create"
        self.shown.append(json.loads(b"".join(map(bytes, params))))
        reads_s, self.reads_s = self.reads_s, self.then_reads_s
        await asyncio.sleep(reads_s)
        return await self.replied


def session(era: Era) -> Session:
    return Session(
        id="s", via="stdio", workspace="/w", era=era, capabilities={"elicitation": {"form": {}}}
    )


class TestChannelAskerOfTheHandshakeEra(AskerContract):
    """The client is asked in the middle of its call."""

    def make(self) -> Asker:
        self.form = Form()
        channel = ClientChannel(session(Era.HANDSHAKE), self.form, patience_s=2.0)
        return ChannelAsker(channel, session(Era.HANDSHAKE))

    async def prepare(self, question: Question) -> None:
        """It keeps nothing."""

    async def answer(self, question: Question, verdict: Verdict, extent: Extent) -> None:
        del question
        await asyncio.sleep(0.02)
        self.form.replied.set_result(reply(verdict, extent))

    @pytest.mark.parametrize(
        ("offers", "choices"),
        [
            (("once",), None),
            (("once", "session"), ["once", "session"]),
            (("once", "session", "always"), ["once", "session", "always"]),
        ],
    )
    async def test_what_is_shown_is_the_prompt_and_nothing_has_to_be_chosen(
        self, offers: tuple[Extent, ...], choices: list[str] | None
    ) -> None:
        asker = self.make()
        self.form.replied.set_result(reply("denied", "once"))
        await asker.ask(a_question(offers=offers))
        [shown] = self.form.shown
        assert shown["message"] == f"Switchboard asks: {a_question().prompt}"
        schema = shown["requestedSchema"]
        assert "required" not in schema
        if choices is None:
            assert schema["properties"] == {}
            return
        remember = schema["properties"]["remember"]
        assert "default" not in remember
        # Some hosts choose the first one where nobody chooses: it is the least.
        assert [each["const"] for each in remember["oneOf"]] == choices

    @pytest.mark.parametrize("content", ["", ',"content":null', ',"content":{}'])
    async def test_to_accept_is_to_agree_once(self, content: str) -> None:
        asker = self.make()
        self.form.replied.set_result(Raw(f'{{"action":"accept"{content}}}'.encode()))
        answer = await asker.ask(a_question())
        assert answer is not None
        assert (answer.verdict, answer.extent) == ("approved", "once")

    @pytest.mark.parametrize("verdict", ["approved", "denied", "cancelled"])
    async def test_what_nobody_could_have_read_is_asked_again_and_then_nobodys_word(
        self, verdict: Verdict
    ) -> None:
        asker = self.make()
        self.form.reads_s = self.form.then_reads_s = 0.0
        self.form.replied.set_result(reply(verdict, "once"))
        assert await asker.ask(a_question()) is None
        assert len(self.form.shown) == 2

    async def test_a_key_that_was_typed_ahead_is_taken_back(self) -> None:
        asker = self.make()
        self.form.reads_s = 0.0
        self.form.replied.set_result(reply("denied", "once"))

        self.form.then_reads_s = READING_S
        answer = await asker.ask(a_question())
        assert answer is not None
        assert answer.verdict == "denied"
        assert len(self.form.shown) == 2

    @pytest.mark.parametrize(
        "said",
        [
            '{"action":"accept","content":{"remember":"yes"}}',
            '{"action":"accept","content":{"remember":["once"]}}',
            '{"action":"accept","content":{"decision":"deny"}}',
            '{"action":"accept","content":{"remember":"once","more":1}}',
            '{"action":"accept","content":{"remember":"always"}}',
            '{"action":"decline","content":{"remember":"once"}}',
            '{"content":{"remember":"once"}}',
            "7",
        ],
    )
    async def test_anything_but_a_clear_yes_is_a_no(self, said: str) -> None:
        asker = self.make()
        self.form.replied.set_result(Raw(said.encode()))
        answer = await asker.ask(a_question())
        assert answer is not None
        assert answer.verdict == "denied"

    async def test_what_was_not_offered_cannot_be_chosen(self) -> None:
        asker = self.make()
        self.form.replied.set_result(reply("approved", "session"))
        answer = await asker.ask(a_question(offers=("once",)))
        assert answer is not None
        assert answer.verdict == "denied"


class TestChannelAskerOfTheModernEra(AskerContract):
    """The call is parked until its client sends it again with the answer."""

    def make(self) -> Asker:
        channel = partial(ClientChannel, session(Era.MODERN), Form(), patience_s=2.0)
        self.suspended = SuspendedCall(lambda ask: channel(ask=ask), {})
        return ChannelAsker(self.suspended.channel, session(Era.MODERN))

    async def prepare(self, question: Question) -> None:
        """It keeps nothing."""

    async def answer(self, question: Question, verdict: Verdict, extent: Extent) -> None:
        await read_it()
        asked = self.suspended.open_questions()
        assert [key.endswith(question.id) for key in asked] == [True]
        self.suspended.answer(dict.fromkeys(asked, reply(verdict, extent)))

    async def test_an_answer_that_came_before_its_question_is_not_believed(self) -> None:
        asker = self.make()
        keys = ("1", "switchboard/approval", "switchboard/approval:")
        self.suspended.given = dict.fromkeys(keys, reply("approved", "session"))
        answer = await asker.ask(a_question())
        assert answer is not None
        assert answer.verdict == "expired"
