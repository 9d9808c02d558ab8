"""Many identical calls of modern clients, each of which waits for its own client to come back."""

import asyncio
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from approvals.ground import Ground, a_launch, decision, reasons
from fakes.calls import a_session
from support.processes import until_true
from support.requirements import attack
from switchboard.core.faults import Fault
from switchboard.core.questions import Answer, Question
from switchboard.core.sessions import Era

MANY = 1_000
MOST = 16


class Forgetful:
    """A client that never comes back with its answer."""

    async def ask(self, question: Question, /) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError(question.id)


def flood(ground: Ground, count: int) -> "list[asyncio.Task[object]]":
    session, asker = replace(a_session(), era=Era.MODERN), Forgetful()
    calls = (replace(ground.a_call(session=session, asker=asker), id=f"c{n}") for n in range(count))
    return [
        asyncio.ensure_future(ground.gate(call, ground.provider.invoke))  # type: ignore[arg-type]
        for call in calls
    ]


async def test_of_a_thousand_identical_calls_sixteen_wait_and_the_rest_is_told_why(
    ground: Ground,
) -> None:
    calls = flood(ground, MANY)
    await until_true(lambda: sum(call.done() for call in calls) == MANY - MOST)
    [posted] = await ground.waiting()
    fault = next(call.exception() for call in calls if call.done())
    assert isinstance(fault, Fault)
    assert fault.reason == "too-many-identical-calls"
    assert fault.hint.endswith(f"switchboard approvals show {posted.question.id}")
    await ground.store.decide(posted.question.id, decision())
    counted = await reasons(calls)
    assert counted == {"ran": 1, "approval-used": MOST - 1, fault.reason: MANY - MOST}
    # Whoever was refused may ask again, once there is room.
    [late] = flood(ground, 1)
    await ground.until_asked()
    late.cancel()


async def test_calls_that_leave_make_room_for_others(ground: Ground) -> None:
    calls = flood(ground, MOST + 1)
    await until_true(lambda: sum(call.done() for call in calls) == 1)
    calls[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await calls[0]
    [one, refused] = flood(ground, 2)
    with pytest.raises(Fault, match="16 calls of `wipe` with the same arguments"):
        await refused
    [posted] = await ground.waiting()
    await ground.store.decide(posted.question.id, decision("denied"))
    with pytest.raises(Fault, match="does not want"):
        await one


@attack("D10")
async def test_one_look_serves_all_who_wait_for_a_question(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others who use the store must not cost one look for each call that waits."""
    ground, others = Ground(home), Ground(home)
    looks = 0
    look = ground.store.answer

    async def counted(question_id: str, /) -> Answer | None:
        nonlocal looks
        looks += 1
        return await look(question_id)

    monkeypatch.setattr(ground.store, "answer", counted)
    calls = flood(ground, MOST)
    await ground.until_asked()
    # All of them have asked once the last has looked, or has joined the look of the first.
    await asyncio.sleep(0.3)
    parked, began = looks, time.process_time()
    for number in range(10):
        with ground.store.subscribe() as news:
            await others.pins.check(a_launch(server=f"other {number}"), 0)
            assert await news.changed(10)
    await asyncio.sleep(0.1)
    assert looks - parked <= 2 * 10
    assert time.process_time() - began < 1
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert await ground.waiting() == []
