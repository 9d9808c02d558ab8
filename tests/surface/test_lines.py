"""The line of a request that waits for its client to come back with an answer."""

import json
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from fakes.calls import a_session
from fakes.fronts import Visitor
from switchboard.core.sessions import Era
from switchboard.surface.lines import MOST_HELD_BYTES, ClientLine

LONG = "x" * 1_000


def progress(step: int) -> Raw:
    return Raw(json.dumps({"progressToken": 1, "progress": step, "message": LONG}).encode())


def a_line(visitor: Visitor, token: bytes | None) -> ClientLine:
    session = replace(a_session(), era=Era.MODERN)
    return ClientLine(session, visitor, token=None if token is None else Raw(token))


async def test_what_is_kept_for_a_client_that_may_never_come_back_is_bounded() -> None:
    visitor = Visitor()
    line = a_line(visitor, b"7")
    line.rest()
    for step in range(500):
        line.progress(progress(step))
    assert visitor.told == []
    line.move(a_line(visitor, b'"new"'))
    told: list[dict[str, Any]] = [params for _, params in visitor.told]
    assert {params["progressToken"] for params in told} == {"new"}
    steps = [params["progress"] for params in told]
    assert steps == list(range(500 - len(steps), 500))
    assert 0 < len(steps) * len(LONG) <= MOST_HELD_BYTES


async def test_a_client_that_wants_no_progress_any_more_gets_none_that_was_kept() -> None:
    visitor = Visitor()
    line = a_line(visitor, b"7")
    line.rest()
    line.progress(progress(1))
    line.move(a_line(visitor, None))
    line.progress(progress(2))
    assert visitor.told == []
