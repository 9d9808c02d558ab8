"""Queue, work and human time of a call are counted apart."""

import asyncio

import pytest

from receipts.ground import Post, begin, client_of, said
from switchboard.core.calls import clock as clocks
from switchboard.core.calls.clock import CallTimes, Clock


class Now:
    """What the monotonic clock says."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture(name="now")
def moment(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(clocks, "monotonic", now)
    return now


def test_what_passed_before_the_work_is_no_work(now: Now) -> None:
    clock = Clock()
    now.s += 2
    assert clock.times(100.0, now()) == CallTimes(2.0, 0.0, 0.0)
    clock.begin()
    now.s += 3
    assert clock.times(100.0, now()) == CallTimes(2.0, 3.0, 0.0)


def test_what_persons_took_is_neither_queue_nor_work(now: Now) -> None:
    clock = Clock()
    now.s += 1
    clock.pause()
    now.s += 10
    assert clock.times(100.0, now()) == CallTimes(1.0, 0.0, 10.0)
    clock.resume()
    clock.begin()
    now.s += 2
    # Once more, while it works, by two at once.
    clock.pause()
    clock.pause()
    now.s += 20
    clock.resume()
    clock.resume()
    now.s += 3
    assert clock.times(100.0, now()) == CallTimes(1.0, 5.0, 30.0)


def test_to_wait_for_a_turn_is_queue_also_when_the_work_has_begun(now: Now) -> None:
    clock = Clock()
    clock.begin()
    now.s += 1
    with clock.in_line():
        now.s += 7
    now.s += 1
    assert clock.times(100.0, now()) == CallTimes(7.0, 2.0, 0.0)


async def test_the_start_of_a_server_is_queue_and_a_person_is_human_time(post: Post) -> None:
    post.workspace.config_toml("guard = true\n", scope="home")
    post.answer()
    async with client_of(post) as client:
        number = begin(client)
        asked: list[str] = []
        while not asked:
            listed = (await post.type("approvals", "list", "--json")).report["approvals"]
            asked = [each["id"] for each in listed]
        (waiting,) = post.calls()
        assert (waiting.state, waiting.work_s) == ("waiting", 0.0)
        await asyncio.to_thread(post.approve, asked[0])
        assert await said(client, number) == "posted: a"
        (ended,) = post.calls()
        assert ended.human_s >= waiting.human_s > 0
        assert ended.work_s > 0
        assert ended.queue_s > 0
        (row,) = [
            line for line in (await post.type("calls")).out.splitlines() if "post.post" in line
        ]
        assert "delivered" in row
        records = (await post.type("audit", "show", ended.id, "--json")).report["records"]
        last = records[-1]["record"]
        assert abs(last["human_ms"] - ended.human_s * 1000) < 2
        assert abs(last["work_ms"] - ended.work_s * 1000) < 2


async def test_calls_that_only_read_are_listed_and_nobody_looks_after_their_answers(
    post: Post,
) -> None:
    post.answer()
    async with client_of(post) as client:
        await client.introspect("post_suite")
        assert await said(client, begin(client, "look")) == "looked: a"
        (ended,) = post.calls()
        assert (ended.state, ended.answer) == ("ok", "")
        assert ended.work_s > 0
        told = await post.type("result", ended.id)
        assert told.code == 1
        assert "its answer is not kept" in told.err
