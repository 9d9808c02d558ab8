"""Many wait and one timer of the loop rings for all of them, each in its own time."""

import asyncio
from collections.abc import Callable
from typing import cast

from switchboard.core.loop.timers import Timers

LIMIT = 10.0


class FakeLoop:
    """A loop whose time passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[float], None], float]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, after_s: float, call: Callable[[float], None], given: float) -> None:
        self.call_at(self.now + after_s, call, given)

    def call_at(self, when: float, call: Callable[[float], None], given: float) -> None:
        self.timers.append((when, call, given))

    def go_to(self, now: float) -> None:
        """Let time pass; whatever is due by then rings."""
        self.now = now
        due = [timer for timer in self.timers if timer[0] <= now]
        self.timers = [timer for timer in self.timers if timer[0] > now]
        for _, call, given in due:
            call(given)


class Ground:
    """Timers on such a loop, and who was told that they are due."""

    def __init__(self) -> None:
        self.loop = FakeLoop()
        self.due: list[str] = []
        self.timers = Timers[str](cast("asyncio.AbstractEventLoop", self.loop), self.due.append)

    def add(self, who: str, limit: float = LIMIT) -> None:
        self.timers[limit][who] = self.loop.now + limit


def test_each_is_due_when_its_own_time_is_over() -> None:
    ground = Ground()
    ground.add("first")
    ground.loop.go_to(4)
    ground.add("second")
    ground.loop.go_to(10)
    assert ground.due == ["first"]
    ground.loop.go_to(13.9)
    assert ground.due == ["first"]
    ground.loop.go_to(14)
    assert ground.due == ["first", "second"]


def test_however_many_wait_there_is_one_timer() -> None:
    ground = Ground()
    for number in range(100):
        ground.loop.go_to(number / 100)
        ground.add(str(number))
    assert len(ground.loop.timers) == 1
    ground.loop.go_to(10.5)
    assert len(ground.due) == 51
    assert len(ground.loop.timers) == 1


def test_who_waits_no_longer_is_never_due() -> None:
    ground = Ground()
    ground.add("gone")
    ground.add("here")
    del ground.timers[LIMIT]["gone"]
    ground.loop.go_to(LIMIT)
    assert ground.due == ["here"]


def test_a_limit_that_nobody_waits_for_is_forgotten_and_can_come_back() -> None:
    ground = Ground()
    ground.add("short", 1)
    ground.add("long", 2)
    ground.loop.go_to(1)
    assert list(ground.timers) == [2]
    ground.loop.go_to(2)
    assert not ground.timers
    assert ground.loop.timers == []
    ground.add("again", 1)
    ground.loop.go_to(3)
    assert ground.due == ["short", "long", "again"]


def test_who_is_added_by_one_that_is_due_waits_its_full_time() -> None:
    loop, due = FakeLoop(), list[str]()

    def again(who: str) -> None:
        due.append(who)
        timers[LIMIT]["again"] = loop.now + LIMIT

    timers = Timers[str](cast("asyncio.AbstractEventLoop", loop), again)
    timers[LIMIT]["first"] = LIMIT
    loop.go_to(10)
    assert due == ["first"]
    loop.go_to(20)
    assert due == ["first", "again"]
