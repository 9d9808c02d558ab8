"""Attacks on the gate: nothing runs that nobody agreed to, and nothing runs twice."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from approvals.ground import (
    PATIENCE,
    WRITES,
    Ground,
    ScriptedAsker,
    a_launch,
    a_tool,
    decision,
    reasons,
    refusal,
)
from fakes.audit import MemoryAudit
from fakes.calls import a_session
from support.requirements import requirement
from switchboard.core.calls.call import Call
from switchboard.core.events import ApprovalAsked, ApprovalDecided
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Answer, Question, Verdict
from switchboard.core.sessions import Era, Session

HOLD = 10.0


class NeedsAnswer(Fault):
    """The answer has to be fetched by another call."""

    def __init__(self, question: Question) -> None:
        super().__init__(FaultCode.PERMISSION_DENIED, "approval-required", "ask again")
        self.question = question


class MeddlingAsker(ScriptedAsker):
    """Answers, after something was changed behind the person's back."""

    def __init__(
        self, meddle: Callable[[], Awaitable[None] | None], verdict: Verdict = "approved"
    ) -> None:
        super().__init__(verdict)
        self._meddle = meddle

    async def ask(self, question: Question, /) -> Answer:
        if (meddling := self._meddle()) is not None:
            await meddling
        return await super().ask(question)


class RetryAsker:
    """The modern era in small: asks by refusing, and takes an answer for the question it asked."""

    def __init__(self, responses: dict[str, Answer]) -> None:
        self._responses = responses

    async def ask(self, question: Question, /) -> Answer:
        answer = self._responses.get(question.id)
        if answer is None:
            raise NeedsAnswer(question)
        return answer


# Verdicts


@requirement("S3.26")
async def test_an_approved_call_runs_with_the_bytes_that_were_shown(ground: Ground) -> None:
    text = b'{ "path":"a",  "n": 1.0 }'
    await ground.run(text, asker=ScriptedAsker())
    [call] = ground.provider.invoked
    assert bytes(call.arguments) == text
    assert call.approval is not None
    assert (call.approval.mode, call.approval.channel) == ("once", "client")


@requirement("S3.34")
@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("denied", "approval-denied"),
        ("cancelled", "approval-cancelled"),
        ("expired", "approval-expired"),
    ],
)
async def test_anything_but_an_approval_keeps_the_tool_from_running(
    ground: Ground, verdict: Verdict, reason: str
) -> None:
    fault = await refusal(ground, asker=ScriptedAsker(verdict))
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, reason)
    assert ground.ran == 0


async def test_where_nobody_can_be_asked_the_answer_is_no(ground: Ground) -> None:
    fault = await refusal(ground)
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "approval-unavailable")
    assert ground.ran == 0


async def test_arguments_with_two_readings_are_refused_before_anybody_is_asked(
    ground: Ground,
) -> None:
    asker = ScriptedAsker()
    fault = await refusal(ground, b'{"path":"a","path":"/etc"}', asker=asker)
    assert fault.reason == "arguments-ambiguous"
    assert (asker.asked, ground.ran) == ([], 0)


async def test_an_asker_that_never_answers_is_not_waited_for_for_ever(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.approvals.request.WAIT_S", 0.2)

    class Silent:
        async def ask(self, question: Question, /) -> Answer:
            await asyncio.Event().wait()
            raise AssertionError(question)

    async with asyncio.timeout(HOLD):
        fault = await refusal(Ground(home), asker=Silent())
    assert fault.reason == "approval-expired"


# What was agreed to is what runs


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": "f2"},
        {"runs": "node evil.js"},
        {"tool": a_tool(description="Wipes the disk.")},
        {"tool": a_tool(effects=WRITES, schema={"type": "object", "required": ["x"]})},
        {"sandbox": "default"},
        {"env_hash": "other"},
        {"cwd": "/tmp"},
    ],
)
async def test_a_launch_that_changes_between_question_and_run_is_stale(
    ground: Ground, change: dict[str, Any]
) -> None:
    asker = MeddlingAsker(lambda: ground.change(**change))
    fault = await refusal(ground, asker=asker)
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "approval-stale")
    assert ground.ran == 0


async def test_a_folder_that_is_swapped_between_question_and_run_is_stale(home: Path) -> None:
    (home / "good").mkdir()
    (home / "evil").mkdir()
    link = home / "work"
    link.symlink_to(home / "good")
    ground = Ground(home, a_launch(cwd=str(link)))

    def swap() -> None:
        link.unlink()
        link.symlink_to(home / "evil")

    asker = MeddlingAsker(swap)
    assert (await refusal(ground, asker=asker)).reason == "approval-stale"
    assert asker.asked[0].facts.cwd == str(home / "good")
    assert ground.ran == 0


async def test_a_call_runs_in_the_folder_that_was_shown_not_through_the_link(home: Path) -> None:
    (home / "good").mkdir()
    (home / "work").symlink_to(home / "good")
    ground = Ground(home, a_launch(cwd=str(home / "work")))
    await ground.run(asker=ScriptedAsker())
    launch = ground.provider.invoked[0].launch
    assert launch is not None
    assert launch.cwd == str(home / "good")


async def test_a_link_that_is_swapped_under_a_path_is_stale(home: Path) -> None:
    (home / "notes").mkdir()
    target = home / "notes" / "a"

    def swap() -> None:
        target.symlink_to("/etc/passwd")

    ground = Ground(home)
    fault = await refusal(ground, {"path": "notes/a"}, asker=MeddlingAsker(swap))
    assert fault.reason == "approval-stale"
    assert ground.ran == 0


async def test_a_file_that_merely_appears_changes_nothing(home: Path) -> None:
    ground = Ground(home)
    await ground.run({"path": "new"}, asker=MeddlingAsker((home / "new").touch))
    assert ground.ran == 1


async def test_an_approval_is_of_no_use_for_other_arguments(home: Path) -> None:
    ground = Ground(home, hold_s=0.0)
    first = await refusal(ground, {"path": "harmless"})
    assert first.reason == "approval-required"
    await ground.store.decide(first.details["approval_id"], decision())
    other = await refusal(ground, {"path": "/"})
    assert other.reason == "approval-required"
    assert other.details["approval_id"] != first.details["approval_id"]
    assert ground.ran == 0


# Single use


async def test_fifty_replays_of_one_answer_run_once(ground: Ground) -> None:
    responses: dict[str, Answer] = {}
    with pytest.raises(NeedsAnswer) as asked:
        await ground.run(asker=RetryAsker(responses))
    responses[asked.value.question.id] = decision(by="client")
    calls = [asyncio.ensure_future(ground.run(asker=RetryAsker(responses))) for _ in range(50)]
    counted = await reasons(calls)
    assert ground.ran == 1
    assert counted == {"ran": 1, "approval-used": 49}
    # And later the same answer is worth nothing: the question is a new one.
    with pytest.raises(NeedsAnswer) as again:
        await ground.run(asker=RetryAsker(responses))
    assert again.value.question.id != asked.value.question.id
    assert ground.ran == 1


async def test_fifty_replays_over_processes_run_once(home: Path) -> None:
    grounds = [Ground(home) for _ in range(10)]
    responses: dict[str, Answer] = {}
    with pytest.raises(NeedsAnswer) as asked:
        await grounds[0].run(asker=RetryAsker(responses))
    responses[asked.value.question.id] = decision(by="client")
    calls = [
        asyncio.ensure_future(ground.run(asker=RetryAsker(responses)))
        for ground in grounds
        for _ in range(5)
    ]
    with contextlib.suppress(NeedsAnswer):
        await asyncio.gather(*calls, return_exceptions=True)
    assert sum(ground.ran for ground in grounds) == 1


async def test_an_answer_to_a_question_that_was_never_asked_is_not_believed(
    ground: Ground,
) -> None:
    forged = RetryAsker({"zzzzzzzz": decision(by="client")})
    with pytest.raises(NeedsAnswer):
        await ground.run(asker=forged)
    assert ground.ran == 0


async def test_a_stateless_client_can_answer_in_a_second_request(ground: Ground) -> None:
    responses: dict[str, Answer] = {}

    def request(session_id: str) -> Session:
        return Session(id=session_id, via="http", workspace="/workspace", era=Era.MODERN)

    with pytest.raises(NeedsAnswer) as asked:
        await ground.run(asker=RetryAsker(responses), session=request("r1"))
    responses[asked.value.question.id] = decision(by="client")
    await ground.run(asker=RetryAsker(responses), session=request("r2"))
    assert ground.ran == 1


async def test_what_the_queue_says_outranks_what_an_asker_says(ground: Ground) -> None:
    async def deny() -> None:
        [posted] = await ground.waiting()
        await ground.store.decide(posted.question.id, decision("denied"))

    fault = await refusal(ground, asker=MeddlingAsker(deny))
    assert fault.reason == "approval-denied"
    assert ground.ran == 0


async def test_of_a_no_and_a_yes_at_the_same_moment_nothing_is_left_to_use(ground: Ground) -> None:
    async def approve() -> None:
        [posted] = await ground.waiting()
        await ground.store.decide(posted.question.id, decision())

    asker = MeddlingAsker(approve, "denied")
    assert (await refusal(ground, asker=asker)).reason == "approval-denied"
    again = ScriptedAsker("denied")
    assert (await refusal(ground, asker=again)).reason == "approval-denied"
    assert (ground.ran, len(again.asked)) == (0, 1)


# The console


async def test_for_high_risk_the_client_may_be_kept_from_answering(home: Path) -> None:
    ground = Ground(home, hold_s=0.0, channel="console")
    asker = ScriptedAsker()
    fault = await refusal(ground, asker=asker)
    assert fault.reason == "approval-required"
    assert asker.asked == []
    await ground.store.decide(fault.details["approval_id"], decision())
    await ground.run(asker=asker)
    assert (ground.ran, asker.asked) == (1, [])


async def test_for_high_risk_an_answer_of_the_client_does_not_count_afterwards(home: Path) -> None:
    ground = Ground(home, hold_s=0.0, channel="console")
    fault = await refusal(ground)
    await ground.store.decide(fault.details["approval_id"], decision(by="client"))
    again = await refusal(ground)
    assert again.reason == "approval-required"
    assert again.details != fault.details
    assert ground.ran == 0


async def test_without_a_queue_high_risk_is_refused_where_the_console_is_demanded(
    home: Path,
) -> None:
    ground = Ground(home, channel="console")
    asker = ScriptedAsker()
    assert (await refusal(ground, asker=asker)).reason == "approval-unavailable"
    assert (asker.asked, ground.ran) == ([], 0)


# What is told


@requirement("S3.33", "S3.92")
async def test_every_question_and_every_answer_is_told_with_whose_it_is(home: Path) -> None:
    audit = MemoryAudit()
    ground = Ground(home, audit=audit)
    await ground.run(asker=ScriptedAsker(), session=a_session("s-1"))
    await refusal(ground, asker=ScriptedAsker("denied"), session=a_session("s-1"))
    asked = ground.events.of(ApprovalAsked)
    decided = ground.events.of(ApprovalDecided)
    assert [event.outcome for event in decided] == ["approved", "denied"]
    assert {(event.session_id, event.tool) for event in decided} == {("s-1", "wipe")}
    assert [event.digest for event in asked] == [event.digest for event in decided]
    kinds = [record.event for record in audit.records]
    assert kinds == ["approval.requested", "approval.decided"] * 2
    record = audit.records[1]
    assert record.ts
    assert (record.session_id, record.workspace, record.tool) == ("s-1", "/workspace", "wipe")
    assert record.args_sha256 == audit.fingerprint(b'{"path":"a"}')
    assert record.approval is not None
    assert (record.approval.decision, record.approval.channel) == ("approved", "client")


@requirement("S3.33", "S3.34")
@pytest.mark.parametrize("outcome", ["denied", "expired"])
async def test_an_answer_that_comes_when_nobody_waits_is_told_as_well(
    home: Path, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    monkeypatch.setattr("switchboard.approvals.request.WAIT_S", 0.5)
    ground = Ground(home, hold_s=0.0)
    fault = await refusal(ground)
    if outcome == "denied":
        await ground.store.decide(fault.details["approval_id"], decision("denied"))
    [event] = await ground.events.wait_for(ApprovalDecided)
    assert (event.approval_id, event.outcome) == (fault.details["approval_id"], outcome)


async def test_an_answer_is_told_once(home: Path) -> None:
    ground = Ground(home, hold_s=0.0)
    fault = await refusal(ground)
    await refusal(ground)
    await ground.store.decide(fault.details["approval_id"], decision())
    await asyncio.sleep(0.1)
    await ground.run()
    await asyncio.sleep(0.1)
    assert [event.outcome for event in ground.events.of(ApprovalDecided)] == ["approved"]
    assert len(ground.events.of(ApprovalAsked)) == 1


@requirement("S3.49", "S3.50")
async def test_nothing_that_is_told_holds_a_secret(home: Path) -> None:
    audit = MemoryAudit()
    ground = Ground(home, audit=audit, hold_s=0.0)
    secret = {"api_token": "VALUE-1", "note": "Bearer VALUE-2-abcdef"}
    fault = await refusal(ground, secret)
    await ground.store.decide(fault.details["approval_id"], decision())
    await ground.run(secret)
    denied = await refusal(ground, secret, asker=ScriptedAsker("denied"))
    told = f"{ground.events.seen}{audit.records}"
    for each in (fault, denied):
        told += f"{each.message}{each.hint}{each.details}{each.private}"
    assert "approval" in told
    assert "VALUE" not in told


async def test_an_answer_that_cannot_be_written_down_is_not_acted_on(home: Path) -> None:
    full = Fault(FaultCode.UNAVAILABLE, "audit-unwritable", "the audit log cannot be written")
    ground = Ground(home, audit=MemoryAudit(full))
    assert (await refusal(ground, asker=ScriptedAsker())).reason == "audit-unwritable"
    assert ground.ran == 0


async def test_a_store_that_cannot_be_used_lets_nothing_through(ground: Ground) -> None:
    await ground.store.aclose()
    fault = await refusal(ground, asker=ScriptedAsker())
    assert fault.reason == "approvals-unavailable"
    assert ground.ran == 0


async def test_the_call_itself_is_never_changed(ground: Ground) -> None:
    call: Call = ground.a_call(asker=ScriptedAsker())
    before = replace(call)
    await ground.gate(call, ground.provider.invoke)
    assert (call.approval, call.arguments, call.launch) == (None, before.arguments, before.launch)


# Clients without their user


class Program:
    """A client that answers by itself, as `claude -p` does."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, question: Question, /) -> Answer | None:
        del question
        self.asked += 1
        return None


async def test_a_program_that_answers_for_its_user_is_no_answer_and_the_queue_is(
    home: Path,
) -> None:
    ground, program = Ground(home, hold_s=PATIENCE), Program()
    task = asyncio.ensure_future(ground.run(asker=program))
    [posted] = await ground.until_asked()
    await ground.store.decide(posted.question.id, decision())
    await asyncio.wait_for(task, PATIENCE)
    assert (ground.ran, program.asked) == (1, 1)


async def test_a_client_whose_program_answered_is_told_that_nobody_was_asked(home: Path) -> None:
    ground = Ground(home, hold_s=0.1)
    told = await refusal(ground, asker=Program())
    assert told.reason == "approval-required"
    assert "answered at once, without asking its user" in told.message
    assert "switchboard approvals approve" in told.hint
    assert (await refusal(Ground(home), asker=Program())).reason == "approval-unavailable"
