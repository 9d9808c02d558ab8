"""Calls that wait at the desk: for an answer from elsewhere, many at once, and to the end."""

import asyncio
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from approvals.ground import Ground, ScriptedAsker, decision, reasons, refusal
from fakes.calls import a_session
from support.processes import until_true
from support.requirements import attack, requirement
from switchboard.core.faults import FaultCode
from switchboard.core.questions import Answer, Question
from switchboard.core.stores import Posted

HOLD = 10.0


async def waiting_call(ground: Ground, **more: Any) -> "asyncio.Task[Any]":
    task = asyncio.ensure_future(ground.run(**more))
    await ground.until_asked()
    return task


async def test_a_call_waits_while_somebody_decides_elsewhere(home: Path) -> None:
    ground, console = Ground(home, hold_s=HOLD), Ground(home)
    task = await waiting_call(ground)
    [posted] = await console.waiting()
    assert await console.store.decide(posted.question.id, decision())
    await asyncio.wait_for(task, HOLD)
    assert ground.ran == 1
    [call] = ground.provider.invoked
    assert call.approval is not None
    assert call.approval.channel == "cli"


async def test_an_approval_given_later_is_used_by_the_same_call_once(home: Path) -> None:
    ground = Ground(home, hold_s=0.0)
    fault = await refusal(ground)
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "approval-required")
    approval = fault.details["approval_id"]
    assert f"switchboard approvals approve {approval}" in fault.hint
    assert await ground.store.decide(approval, decision())
    await ground.run()
    assert ground.ran == 1
    assert (await refusal(ground)).reason == "approval-required"
    assert ground.ran == 1


@requirement("S3.37")
@attack("PB4", "H37")
async def test_an_approval_given_later_is_of_no_use_to_another_session(home: Path) -> None:
    ground = Ground(home, hold_s=0.0)
    fault = await refusal(ground, session=a_session("one"))
    await ground.store.decide(fault.details["approval_id"], decision())
    assert (await refusal(ground, session=a_session("two"))).reason == "approval-required"
    assert ground.ran == 0


async def test_a_client_that_is_less_patient_gets_its_answer_in_time(home: Path) -> None:
    ground = Ground(home, hold_s=HOLD)
    began = time.monotonic()
    fault = await refusal(ground, client_timeout_s=0.5)
    assert fault.reason == "approval-required"
    assert time.monotonic() - began < 3


async def test_a_cancelled_call_takes_its_question_away(home: Path) -> None:
    ground = Ground(home, hold_s=HOLD)
    task = await waiting_call(ground)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ground.waiting() == []


async def test_a_question_stays_as_long_as_another_call_waits_for_it(home: Path) -> None:
    ground = Ground(home, hold_s=HOLD)
    first = await waiting_call(ground)
    second = asyncio.ensure_future(ground.run())
    await asyncio.sleep(0.05)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    [posted] = await ground.waiting()
    await ground.store.decide(posted.question.id, decision())
    await asyncio.wait_for(second, HOLD)
    assert ground.ran == 1


class SlowPost:
    """Calls whose questions are in the queue, while they have not heard of it yet."""

    def __init__(self, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ground = ground
        self._post = ground.queue.post
        self._posted: asyncio.Queue[Posted] = asyncio.Queue()
        self.go_on = asyncio.Event()
        monkeypatch.setattr(ground.queue, "post", self._slowly)

    async def _slowly(self, question: Question) -> Posted:
        posted = await self._post(question)
        self._posted.put_nowait(posted)
        await self.go_on.wait()
        return posted

    async def a_call(self) -> "asyncio.Task[Any]":
        task = asyncio.ensure_future(self._ground.run())
        await asyncio.wait_for(self._posted.get(), HOLD)
        return task


async def test_a_call_that_leaves_while_it_asks_does_not_take_the_question_of_who_joined_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(home, hold_s=HOLD)
    slow = SlowPost(ground, monkeypatch)
    first, second = await slow.a_call(), await slow.a_call()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await asyncio.sleep(0)
    slow.go_on.set()
    [posted] = await ground.waiting()
    await ground.store.decide(posted.question.id, decision())
    await asyncio.wait_for(second, HOLD)
    assert ground.ran == 1


async def test_when_all_have_left_while_they_asked_no_question_stays(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(home, hold_s=HOLD)
    slow = SlowPost(ground, monkeypatch)
    for call in [await slow.a_call(), await slow.a_call()]:
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    slow.go_on.set()
    with ground.store.subscribe() as news:
        while await ground.waiting():
            assert await news.changed(HOLD)


DOOMED = dedent(
    """
    import asyncio, pathlib, sys
    sys.path.insert(0, sys.argv[2])
    from approvals.ground import Ground

    asyncio.run(Ground(pathlib.Path(sys.argv[1]), hold_s=50).run())
    """
)


@attack("PB1")
async def test_a_process_that_is_killed_while_a_call_waits_leaves_nothing_behind(
    home: Path,
) -> None:
    ground = Ground(home, hold_s=0.0)
    tests = str(Path(__file__).parents[1])
    doomed = await asyncio.create_subprocess_exec(sys.executable, "-c", DOOMED, str(home), tests)
    try:
        await ground.until_asked()
        [left] = await ground.waiting()
    finally:
        doomed.kill()
        await doomed.wait()
    assert await ground.waiting() == []
    assert not await ground.store.decide(left.question.id, decision())
    # The same call, made after a restart, is a question of its own.
    fault = await refusal(ground)
    assert fault.reason == "approval-required"
    assert fault.details["approval_id"] != left.question.id


# Floods


async def test_of_two_hundred_questions_at_once_a_person_sees_three(home: Path) -> None:
    ground = Ground(home, hold_s=HOLD)
    calls = [asyncio.ensure_future(ground.run({"path": f"{n}"})) for n in range(200)]
    await until_true(lambda: sum(call.done() for call in calls) == 197)
    waiting = await ground.waiting()
    assert len(waiting) == 3
    for posted in waiting:
        await ground.store.decide(posted.question.id, decision("denied"))
    counted = await reasons(calls)
    assert counted == {"too-many-questions": 197, "approval-denied": 3}
    assert ground.ran == 0


async def test_two_hundred_identical_calls_are_one_question_and_one_run(home: Path) -> None:
    ground = Ground(home, hold_s=HOLD)
    calls = [asyncio.ensure_future(ground.run()) for _ in range(200)]
    await ground.until_asked()
    await asyncio.sleep(0.1)
    [posted] = await ground.waiting()
    await ground.store.decide(posted.question.id, decision())
    assert await reasons(calls) == {"ran": 1, "approval-used": 199}
    assert ground.ran == 1


async def test_a_client_is_prompted_once_for_identical_calls(ground: Ground) -> None:
    class Slow(ScriptedAsker):
        async def ask(self, question: Question, /) -> Answer:
            answer = await super().ask(question)
            await asyncio.sleep(0.1)
            return answer

    asker = Slow()
    calls = [asyncio.ensure_future(ground.run(asker=asker)) for _ in range(20)]
    await reasons(calls)
    assert (len(asker.asked), ground.ran) == (1, 1)


async def test_calls_that_wait_for_one_answer_all_run_if_it_is_for_the_session(
    home: Path,
) -> None:
    ground = Ground(home, hold_s=HOLD)
    calls = [asyncio.ensure_future(ground.run()) for _ in range(20)]
    await ground.until_asked()
    await asyncio.sleep(0.1)
    [posted] = await ground.waiting()
    await ground.store.decide(posted.question.id, decision("approved", "session"))
    assert await reasons(calls) == {"ran": 20}
