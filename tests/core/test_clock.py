"""The clock of a call: signs of life move its end, up to a ceiling."""

import asyncio

from switchboard.core.clock import Clock


async def test_a_question_that_was_asked_before_the_call_began_does_not_lift_its_ceiling() -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    clock = Clock()
    clock.pause()
    clock.start(task, loop, 1.0, 2.0)
    clock.resume()
    clock.touch()
    # The end is as far as signs of life can move it: a second from now, below the ceiling.
    assert not clock.hit_ceiling
    clock._until = clock.begun_at + 3.0
    assert clock.hit_ceiling
