"""Work that is begun at once behaves as if it had been awaited."""

import asyncio

import pytest

from switchboard.core.loop.begun import Begun


async def three() -> int:
    return 3


async def failing() -> int:
    raise ValueError("no")


async def waiting_for(future: "asyncio.Future[int]") -> int:
    try:
        return await future + await asyncio.shield(future)
    except asyncio.CancelledError:
        return -1


async def test_work_that_waits_for_nothing_is_done_at_once() -> None:
    begun = Begun(three())
    assert (begun.is_done, begun.result) == (True, 3)


async def test_work_that_fails_at_once_fails_where_it_is_begun() -> None:
    with pytest.raises(ValueError, match="no"):
        Begun(failing())


async def test_work_that_waits_can_be_awaited_to_its_result() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    begun = Begun(waiting_for(future))
    assert not begun.is_done
    asyncio.get_running_loop().call_soon(future.set_result, 2)
    assert await begun == 4


async def test_a_cancellation_reaches_the_work_itself() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def caller() -> int:
        return await Begun(waiting_for(future))

    task = asyncio.create_task(caller())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == -1


async def test_a_failure_of_what_it_waits_for_reaches_the_work() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    begun = Begun(waiting_for(future))
    asyncio.get_running_loop().call_soon(future.set_exception, KeyError("gone"))
    with pytest.raises(KeyError):
        await begun


async def test_a_timeout_around_it_ends_the_work() -> None:
    async def forever() -> int:
        await asyncio.get_running_loop().create_future()
        return 1

    begun = Begun(forever())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await begun
