"""Resources that are followed: nobody believes to follow what the child was never asked for."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from msgspec import Raw

from switchboard.children.greeting import Greeting
from switchboard.children.link import Link
from switchboard.children.subscriptions import Subscriptions
from switchboard.core.loop.tasks import TaskSet
from switchboard.wire.messages import RpcError

SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
LINK = cast("Link", object())
URI = "a://1"


class Asked:
    """A child that answers when it is told to, and keeps the order in which it was asked."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.tasks = TaskSet()
        self.subscriptions = Subscriptions(self._ask, self.tasks)
        self.subscriptions.begin(LINK, Greeting())
        self._answers: list[asyncio.Future[Raw]] = []

    async def _ask(self, link: Link, method: str, members: bytes) -> Raw:
        del link, members
        self.methods.append(method)
        self._answers.append(asyncio.get_running_loop().create_future())
        return await self._answers[-1]

    def answer(self) -> None:
        self._answers[-1].set_result(Raw(b"{}"))

    def refuse(self) -> None:
        self._answers[-1].set_exception(RpcError(-32603, "no"))

    def follow(self, told: list[str]) -> "asyncio.Future[Callable[[], None]]":
        """Begin to follow."""
        adding = self.subscriptions.add(LINK, URI, told.append)
        return asyncio.ensure_future(adding)


async def all_else() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("ends", ["cancelled", "refused"])
async def test_who_follows_while_the_first_is_still_asked_for_is_asked_for_if_that_fails(
    ends: str,
) -> None:
    child, told = Asked(), list[str]()
    first, second = child.follow([]), child.follow(told)
    await all_else()
    assert child.methods == [SUBSCRIBE]
    assert not second.done()
    if ends == "cancelled":
        first.cancel()
    else:
        child.refuse()
    await all_else()
    assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], BaseException)
    assert child.methods == [SUBSCRIBE, SUBSCRIBE]
    child.answer()
    await second
    child.subscriptions.updated(URI)
    assert told == [URI]
    await child.tasks.aclose()


async def test_who_follows_while_the_first_is_still_asked_for_does_not_ask_again() -> None:
    child = Asked()
    both = child.follow([]), child.follow([])
    await all_else()
    child.answer()
    await asyncio.gather(*both)
    assert child.methods == [SUBSCRIBE]


async def test_who_follows_again_is_asked_for_after_the_last_has_left() -> None:
    child = Asked()
    following = child.follow([])
    await all_else()
    child.answer()
    end = await following
    end()
    again = child.follow([])
    await all_else()
    # Over HTTP what is said before the answer may still arrive behind what is said now.
    assert child.methods == [SUBSCRIBE, UNSUBSCRIBE]
    child.answer()
    await all_else()
    assert child.methods == [SUBSCRIBE, UNSUBSCRIBE, SUBSCRIBE]
    child.answer()
    await again
    assert child.subscriptions
    await child.tasks.aclose()


async def test_a_child_is_needed_only_while_somebody_follows() -> None:
    child = Asked()
    following = child.follow([])
    await all_else()
    child.answer()
    end = await following
    end()
    end()
    assert not child.subscriptions
    await all_else()
    child.answer()
    await all_else()
    assert child.methods == [SUBSCRIBE, UNSUBSCRIBE]
    assert len(child.tasks) == 0


async def test_a_new_process_is_asked_for_what_is_still_followed() -> None:
    child = Asked()
    following = child.follow([])
    await all_else()
    child.answer()
    await following
    child.subscriptions.begin(cast("Link", object()), Greeting())
    await all_else()
    assert child.methods == [SUBSCRIBE, SUBSCRIBE]
    await child.tasks.aclose()
