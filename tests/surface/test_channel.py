"""The channel of a request that waits for its client to come back with an answer."""

import json
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from fakes.calls import a_session
from fakes.fronts import Visitor
from switchboard.core.sessions import Era
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
