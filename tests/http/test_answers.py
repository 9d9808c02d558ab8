"""Work on answers that never comes to its first step."""

import asyncio
import gc

import pytest

from switchboard.core.loop.tasks import TaskSet
from switchboard.surface.http.answers import start
from switchboard.wire.messages import Parts


async def test_work_that_is_cancelled_at_once_leaves_nothing_behind(
    recwarn: pytest.WarningsRecorder,
) -> None:
    async def never() -> Parts:
        return (b"{}",)

    async with TaskSet() as tasks:
        work = start(tasks, never(), 1, modern=False)
        work.cancel()
        await asyncio.wait({work})
        assert work.cancelled()
    del work
    gc.collect()
    assert list(recwarn) == []


async def test_a_mistake_of_ours_is_an_answer_without_its_words() -> None:
    async def fail() -> Parts:
        raise ZeroDivisionError("/a/private/path")

    async with TaskSet() as tasks:
        reply = await start(tasks, fail(), 1, modern=False)
    text = b"".join(reply.parts)
    assert b"-32603" in text
    assert b"private" not in text
