"""The channel of a request: what is told, what is kept for later, and what it does to the time."""

import asyncio
import json
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from fakes.calls import a_call, a_session, a_tool
from fakes.endpoints import Visitor
from fakes.time import in_fake_time
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.catalog.tools import Policy
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.sessions import Era
from switchboard.pipeline.gates.deadline import DeadlineGate
from switchboard.surface.channel import MOST_HELD_BYTES, ClientChannel

LONG = "x" * 1_000


def progress(step: int) -> Raw:
    return Raw(json.dumps({"progressToken": 1, "progress": step, "message": LONG}).encode())


def a_channel(visitor: Visitor, token: bytes | None) -> ClientChannel:
    session = replace(a_session(), era=Era.MODERN)
    return ClientChannel(session, visitor, token=None if token is None else Raw(token))


async def test_what_is_kept_for_a_client_that_may_never_come_back_is_bounded() -> None:
    visitor = Visitor()
    channel = a_channel(visitor, b"7")
    channel.rest()
    for step in range(500):
        channel.progress(progress(step))
    assert visitor.told == []
    channel.move(a_channel(visitor, b'"new"'))
    told: list[dict[str, Any]] = [params for _, params in visitor.told]
    assert {params["progressToken"] for params in told} == {"new"}
    steps = [params["progress"] for params in told]
    assert steps == list(range(500 - len(steps), 500))
    assert 0 < len(steps) * len(LONG) <= MOST_HELD_BYTES


async def test_a_client_that_wants_no_progress_any_more_gets_none_that_was_kept() -> None:
    visitor = Visitor()
    channel = a_channel(visitor, b"7")
    channel.rest()
    channel.progress(progress(1))
    channel.move(a_channel(visitor, None))
    channel.progress(progress(2))
    assert visitor.told == []


async def test_a_provider_reports_in_its_own_words_and_the_client_hears_progress() -> None:
    visitor = Visitor()
    channel = a_channel(visitor, b"7")
    channel.report(1, 3, "one of three")
    channel.report(2.5)
    assert visitor.told == [
        (
            "notifications/progress",
            {"progress": 1, "total": 3, "message": "one of three", "progressToken": 7},
        ),
        ("notifications/progress", {"progress": 2.5, "progressToken": 7}),
    ]


def by_report(channel: Channel) -> None:
    channel.report(1)


def by_a_child(channel: Channel) -> None:
    channel.progress(progress(1))


@pytest.mark.parametrize("say", [by_report, by_a_child])
@in_fake_time
async def test_whoever_says_how_far_it_is_gets_its_time_anew(say: Any) -> None:
    limit = 0.15

    async def work(_: Call) -> Outcome:
        for _step in range(6):
            await asyncio.sleep(limit / 3)
            say(channel)
        return Outcome()

    # Also if the client does not want to hear of it.
    channel = a_channel(Visitor(), None)
    tool = replace(a_tool(), policy=Policy(timeout_s=limit, longest_s=60))
    call = replace(a_call(tool), channel=channel, clock=channel.clock)
    assert await DeadlineGate()(call, work)


@in_fake_time
async def test_a_tool_without_a_ceiling_gains_nothing_by_talking() -> None:
    async def work(_: Call) -> Outcome:
        while True:
            await asyncio.sleep(0.02)
            channel.report(1)

    channel = a_channel(Visitor(), None)
    tool = replace(a_tool(), policy=Policy(timeout_s=0.1, timeout_key="timeout_ms"))
    with pytest.raises(Fault, match=r"did not finish within 0\.1 s") as caught:
        async with asyncio.timeout(5):
            await DeadlineGate()(replace(a_call(tool), channel=channel, clock=channel.clock), work)
    assert "`timeout_ms`" in caught.value.hint
    assert channel.clock.has_rung
