"""The clock of a call: signs of life move its end, up to a ceiling."""

import asyncio

from switchboard.core.calls.clock import Clock


async def test_a_question_that_was_asked_before_the_call_began_does_not_lift_its_ceiling() -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    clock = Clock()
    clock.pause()
    clock.start(task, loop, 10.0, 10.001)
    clock.resume()
    await asyncio.sleep(0.01)
    clock.touch()
    assert clock.hit_ceiling
