"""What an engine may not do unasked: asked on the road of every call, bound to exactly that."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agents.ground import AgentBoard, HeardChannel, ScriptedAsker, an_agent, board, text_of
from fakes.engines import Runs, Says, ScriptedEngine
from support.processes import until_true
from switchboard.core.events import ApprovalAsked, ApprovalDecided
from switchboard.core.questions import Answer, Question
from switchboard.core.sessions import Session
from switchboard.engines.events import Form, Permission

ASKS = Runs("touch wanted", asks=True)


class PatientAsker:
    """Asks a person who never answers."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.withdrawn = 0

    async def ask(self, question: Question, /) -> Answer:
        self.asked.append(question)
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn += 1
        raise AssertionError


async def test_a_question_waits_at_the_desk_on_an_unguarded_board_too(home: Path) -> None:
    async with board(home, ASKS, Says("done")) as desk:
        call = desk.begin()
        posted = await desk.until_asked()
        assert not (home / "wanted").exists()
        await until_true(lambda: desk.run.state == "asking")
        assert desk.run.approval_id == posted.question.id
        await desk.decide(posted)
        await asyncio.wait_for(call, 60)
        assert (home / "wanted").exists()
        assert desk.run.output == "done"
        assert desk.runs.asked == [posted.question.id]


async def test_a_person_sees_the_run_the_agent_and_the_exact_command(home: Path) -> None:
    async with board(home, ASKS, Says("done")) as desk:
        call = desk.begin()
        posted = await desk.until_asked()
        question = posted.question
        assert question.facts.runs == "touch wanted"
        assert question.facts.cwd == str(home)
        assert question.facts.server == f"agent reviewer, run {desk.run.id}"
        first, second, *rest = question.prompt.splitlines()
        # Some clients show the first lines only.
        assert first.startswith("Agent reviewer wants to run a command in ")
        assert f"Folder: {home}" in rest
        assert second == "  | touch wanted"
        assert any(f", asked by agent reviewer, run {desk.run.id}" in line for line in rest)
        # Nobody knows these of what an engine starts, and there is nothing else to show.
        assert not any(
            line.startswith(("Sandbox", "Network", "Variables", "Server", "Arguments"))
            for line in rest
        )
        assert question.risk.must_ask
        await desk.decide(posted, "denied")
        await asyncio.wait_for(call, 60)


async def test_what_the_agent_did_before_is_no_word_of_a_stranger(home: Path) -> None:
    asker = ScriptedAsker()
    async with board(home, ASKS, Runs("touch other", asks=True), Says("done")) as desk:
        await desk.ask_agent(asker=asker)
        assert [question.facts.tainted_by for question in asker.asked] == [(), ()]
        assert not any("strangers" in question.prompt for question in asker.asked)


@pytest.mark.parametrize(
    ("permission", "shown"),
    [
        (
            {"kind": "patch", "subject": "a.py", "text": "update a.py\n-x = 1\n+\tx = 2\r\n"},
            ["change files in ", "  | update a.py", "  | -x = 1", "  | +   x = 2\\u000d"],
        ),
        (
            {"kind": "tool", "subject": "memory/wipe", "detail": '{"tool":"all","patch":"p"}'},
            ["wants to call memory/wipe in ", '"tool": "all"', '"patch": "p"'],
        ),
        (
            {
                "kind": "command",
                "subject": "make",
                "text": "cd x &&\nmake",
                "detail": '{"command":"make","timeout":7}',
                "told": ("command",),
                "reason": "Builds it.\nRisk: low",
            },
            ["  | cd x &&", "  | make", '"timeout": 7', "  | Builds it.", "  | Risk: low"],
        ),
        (
            {"kind": "other", "subject": "s", "wants": "reach https://a.example from a command"},
            [
                "Wanted: Agent reviewer wants to reach https://a.example from a command",
                '"other": "s"',
            ],
        ),
        # What came under a name that we use ourselves is shown as well.
        (
            {"kind": "patch", "subject": "a", "text": "+b", "detail": '{"patch":"+c"}'},
            ["  | +b", '"patch (as it came)": "+c"'],
        ),
    ],
    ids=["patch", "tool", "command", "other", "same name"],
)
async def test_what_an_engine_wants_is_shown_whole_and_readable(
    home: Path, permission: dict[str, Any], shown: list[str]
) -> None:
    asker = ScriptedAsker("denied")
    async with board(home, Permission(request_id="q", **permission), Says("done")) as desk:
        await desk.ask_agent(asker=asker)
        [question] = asker.asked
        assert question.prompt.startswith("Agent reviewer wants to ")
        for each in shown:
            assert each in question.prompt
        assert f"Folder: {home}" in question.prompt.splitlines()
        assert question.prompt.count("\nRisk: ") == 1
        reply = desk.conversation.replies["q"]
        assert reply.verdict == "decline"
        assert reply.reason.startswith("the user does not allow th")


async def test_a_no_lets_the_model_go_on(home: Path) -> None:
    async with board(home, ASKS, Says("then not")) as desk:
        call = desk.begin()
        await desk.decide(await desk.until_asked(), "denied")
        await asyncio.wait_for(call, 60)
        assert not (home / "wanted").exists()
        assert desk.run.output == "then not"
        [reply] = desk.conversation.replies.values()
        assert reply.verdict == "decline"
        assert reply.reason


async def test_silence_is_no(home: Path) -> None:
    async with board(home, ASKS, Says("then not"), approval_timeout=0.3) as desk:
        answer = await desk.ask_agent()
        assert answer == {"ok": True, "output": "then not"}
        assert not (home / "wanted").exists()


async def test_a_client_that_waits_and_can_ask_is_asked(home: Path) -> None:
    asker = ScriptedAsker()
    async with board(home, ASKS, Says("done")) as desk:
        answer = await desk.ask_agent(asker=asker)
        assert answer["output"] == "done"
        assert (home / "wanted").exists()
        [question] = asker.asked
        assert question.facts.runs == "touch wanted"


async def test_a_client_that_stops_waiting_leaves_the_question_to_the_desk(home: Path) -> None:
    asker = PatientAsker()
    async with board(home, ASKS, Says("done"), patience=1) as desk:
        given = {"task": "look", "cwd": str(home)}
        outcome = await desk.outcome("reviewer", given, asker=asker)
        await until_true(lambda: asker.withdrawn == 1)
        posted = await desk.until_asked()
        # It says which approval the run waits for and how to give it, to people and programs.
        asked = posted.question.id
        answer = text_of(outcome)
        assert answer["ok"] is True
        assert f"waits for approval {asked}" in answer["output"]
        assert f"`switchboard approvals approve {asked}`" in answer["output"]
        about = outcome.meta["switchboard/run"]
        assert about["state"] == "asking"
        verbs = ("show", "approve", "deny")
        commands = {verb: f"switchboard approvals {verb} {asked}" for verb in verbs}
        assert about["approval"] == {"id": asked, "commands": commands}
        await desk.decide(posted)
        await until_true(lambda: desk.run.state == "completed")


async def test_a_form_that_nobody_answers_leaves_the_question_to_the_desk(home: Path) -> None:
    """The question has a deadline of its own, which is longer."""
    asker = ScriptedAsker("expired")
    async with board(home, ASKS, Says("done")) as desk:
        calling = desk.begin(asker=asker)
        posted = await desk.until_asked()
        await until_true(lambda: len(asker.asked) == 1)
        await desk.decide(posted)
        assert text_of(await calling)["output"] == "done"
        assert (home / "wanted").exists()


async def test_who_waits_next_is_asked_next(home: Path) -> None:
    async with board(home, ASKS, Says("done"), patience=1) as desk:
        await desk.ask_agent(asker=PatientAsker())
        asker = ScriptedAsker()
        outcome = await desk.outcome("run_wait", {"run_id": desk.run.id}, asker=asker)
        assert not outcome.is_error
        assert len(asker.asked) == 1
        assert (home / "wanted").exists()


async def test_who_waits_for_a_run_of_another_client_is_not_asked_in_the_name_of_a_person(
    home: Path,
) -> None:
    # A shell of the agent can connect, and wait for the very run that it works in.
    async with board(home, ASKS, Says("done"), patience=1) as desk:
        await desk.ask_agent()
        posted = await desk.until_asked()
        stranger = Session(id="stranger", via="stdio", workspace="/workspace")
        asker = ScriptedAsker()
        waiting = {"run_id": desk.run.id}
        await desk.outcome("run_wait", waiting, asker=asker, session=stranger)
        assert not asker.asked
        assert not (home / "wanted").exists()
        await desk.decide(posted, "denied")
        await until_true(lambda: desk.run.state == "completed")


async def test_trust_for_the_session_is_trust_in_the_same_command_of_the_same_run(
    home: Path,
) -> None:
    asker = ScriptedAsker(extent="session")
    scenes = (ASKS, ASKS, Runs("touch other", asks=True), Says("done"))
    async with board(home, *scenes) as desk:
        await desk.ask_agent(asker=asker)
        shown = [question.facts.runs for question in asker.asked]
        assert shown == ["touch wanted", "touch other"]
        # Another run has agreed to nothing.
        await desk.ask_agent("again", asker=asker)
        shown = [question.facts.runs for question in asker.asked]
        assert shown == ["touch wanted", "touch other"] * 2


async def test_trust_in_one_agent_is_no_trust_in_another(home: Path) -> None:
    asker = ScriptedAsker(extent="session")
    desk = AgentBoard(
        home, an_agent("one"), an_agent("two"), engine=ScriptedEngine(ASKS, Says("done"))
    )
    await desk.ask_agent(tool="one", asker=asker)
    await desk.ask_agent(tool="two", asker=asker)
    assert [question.tool for question in asker.asked] == ["one/command", "two/command"]
    await desk.aclose()


async def test_a_cancelled_run_takes_its_question_back(home: Path) -> None:
    async with board(home, ASKS, Says("done")) as desk:
        call = desk.begin()
        posted = await desk.until_asked()
        await desk.outcome("run_cancel", {"run_id": desk.run.id})
        await asyncio.wait_for(call, 60)
        assert desk.run.state == "cancelled"
        found = await desk.guard.approvals.find(posted.question.id)
        assert found is not None
        assert found.state == "cancelled"
        assert not (home / "wanted").exists()


async def test_what_was_asked_and_decided_is_told_and_written_down(home: Path) -> None:
    async with board(home, ASKS, Says("done")) as desk:
        await desk.ask_agent(asker=ScriptedAsker())
        kinds = [type(event) for event in desk.events.seen]
        assert ApprovalAsked in kinds
        assert ApprovalDecided in kinds
        await desk.guard.audit.flush()
        rows = [row async for row in desk.guard.audit.read()]
        events = [msgspec.json.decode(row.body)["event"] for row in rows]
        assert "approval.decided" in events
        assert "tool.call.started" in events


async def test_neither_the_agent_nor_its_client_may_answer_for_a_person(home: Path) -> None:
    async with board(home, ASKS, Says("done")) as desk:
        call = desk.begin()
        posted = await desk.until_asked()
        # The scripted engine calls itself process 1.
        assert posted.question.client_pid == 1
        await desk.decide(posted)
        await asyncio.wait_for(call, 60)


@pytest.mark.parametrize(
    ("form", "verdict"),
    [
        (Form(request_id="q", server="s", message="Switchboard asks:\x1b[2J yes?"), "accept"),
        (Form(request_id="q", server="s", message="look", url="javascript:alert(1)"), "decline"),
        (Form(request_id="q", server="s", message="look", schema="no JSON"), "decline"),
    ],
)
async def test_a_form_is_shown_under_the_name_of_who_wants_it(
    home: Path, form: Form, verdict: str
) -> None:
    async with board(home, form, Says("done")) as desk:
        channel = HeardChannel({"action": "accept", "content": {}})
        await desk.ask_agent(channel=channel)
        assert desk.conversation.replies["q"].verdict == verdict
        for asked in channel.asked:
            assert asked["message"].startswith("The server `s of agent reviewer` asks: ")
            assert "\x1b" not in asked["message"]
        assert len(channel.asked) == (verdict == "accept")
