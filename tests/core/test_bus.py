"""Whoever watches can fail without anybody else noticing."""

import io
import sys

import pytest

from fakes.calls import FakeProvider, a_call
from switchboard.core.bus import EventBus
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.events import CallFinished, CallStarted, Event
from switchboard.pipeline.order import build_road


class Broken:
    """A subscriber that fails at every event."""

    def __call__(self, event: Event, /) -> None:
        raise OSError(f"no space left for {type(event).__name__}")


async def test_a_call_is_answered_although_a_subscriber_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: list[Event] = []
    bus = EventBus(Broken(), seen.append)
    provider = FakeProvider()
    road = build_road({provider.key: provider}, Visibility(), bus)
    assert await road(a_call())
    assert await road(a_call())
    # The others hear everything, and the failure is told once.
    assert [type(event) for event in seen] == [CallStarted, CallFinished] * 2
    assert capsys.readouterr().err.count("OSError: no space left") == 1


def test_each_subscriber_that_fails_is_told_of_and_one_that_left_hears_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = Broken(), Broken()
    bus = EventBus(first)
    bus.subscribe(second)
    event = CallStarted(call_id="c", session_id="s", tool="t", protocol="")
    bus.emit(event)
    bus.unsubscribe(first)
    bus.unsubscribe(second)
    bus.emit(event)
    assert capsys.readouterr().err.count("Traceback") == 2


class Closed(io.StringIO):
    """A stderr that nobody reads any more."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError(text)


def test_a_failure_that_cannot_be_told_reaches_nobody_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Event] = []
    monkeypatch.setattr(sys, "stderr", Closed())
    EventBus(Broken(), seen.append).emit(
        CallStarted(call_id="c", session_id="s", tool="t", protocol="")
    )
    assert len(seen) == 1
