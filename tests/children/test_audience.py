"""Whom a child may mean that does not say so."""

import dataclasses
from typing import Any, cast

import pytest

from support.requirements import attack
from switchboard.children.inbound.audience import ABANDONED_S, LINGER_S, Audience
from switchboard.core.channels.channel import Channel


@dataclasses.dataclass
class Way:
    """The channel of one request."""

    holder: str


class Hall:
    """An audience whose time is ours."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.audience = Audience(lambda: self.now)
        self._token = 0

    def begin(self, holder: str) -> int:
        self._token += 1
        self.audience.begin(self._token, cast("Channel", Way(holder)))
        return self._token

    def means(self) -> Any:
        channel = self.audience.only()
        return channel.holder if channel is not None else None


@pytest.fixture
def hall() -> Hall:
    return Hall()


def test_who_is_alone_is_meant(hall: Hall) -> None:
    assert hall.means() is None
    hall.begin("alice")
    hall.begin("alice")
    assert hall.means() == "alice"
    hall.begin("bob")
    assert hall.means() is None


def test_words_after_an_answer_are_not_for_who_calls_next(hall: Hall) -> None:
    """A server that goes on with one session's request asks while only another waits."""
    hall.audience.end(hall.begin("alice"))
    hall.begin("bob")
    assert hall.means() is None
    hall.now += LINGER_S + 1
    assert hall.means() == "bob"


@attack("S2")
def test_a_request_that_was_called_off_counts_until_it_is_answered(hall: Hall) -> None:
    called_off = hall.begin("alice")
    hall.audience.abandon(called_off)
    hall.begin("bob")
    hall.now += LINGER_S + 1
    assert hall.means() is None
    hall.audience.answered(called_off)
    # A server may answer first and speak then.
    assert hall.means() is None
    hall.now += LINGER_S + 1
    assert hall.means() == "bob"


@attack("S3")
def test_a_request_that_is_never_answered_counts_for_a_while(hall: Hall) -> None:
    hall.audience.abandon(hall.begin("alice"))
    hall.begin("bob")
    hall.now += ABANDONED_S + 1
    assert hall.means() == "bob"


def test_an_answer_to_a_request_that_another_made_clears_nobody(hall: Hall) -> None:
    """A server answers a number that it made up, and then speaks."""
    hall.audience.abandon(hall.begin("alice"))
    hall.begin("bob")
    hall.audience.answered(999)
    assert hall.means() is None


def test_who_left_is_not_in_the_way_of_who_comes(hall: Hall) -> None:
    hall.audience.end(hall.begin("alice"))
    hall.audience.leave("alice")
    hall.begin("bob")
    assert hall.means() == "bob"


def test_the_unanswered_request_of_who_left_counts_a_moment_longer(hall: Hall) -> None:
    """A client is killed in the middle of a call, and the server asks whoever is there."""
    unanswered = hall.begin("alice")
    hall.audience.leave("alice")
    hall.audience.abandon(unanswered)
    hall.begin("bob")
    assert hall.means() is None
    hall.now += LINGER_S + 1
    assert hall.means() == "bob"


def test_what_the_last_process_was_asked_may_be_known_to_the_next(hall: Hall) -> None:
    hall.audience.abandon(hall.begin("alice"))
    hall.audience.begin_anew()
    hall.begin("bob")
    assert hall.means() is None
    hall.now += LINGER_S + 1
    assert hall.means() == "bob"


def held(audience: Audience) -> int:
    """How many sessions and requests it remembers."""
    kept: list[Any] = [
        getattr(audience, name) for name in ("_abandoned", "_left", "_served", "channels")
    ]
    requests = sum(map(len, audience._abandoned.values()))  # pyright: ignore[reportPrivateUsage]
    return sum(map(len, kept)) + requests


def test_sessions_that_came_and_went_are_remembered_no_longer_than_they_can_be_meant(
    hall: Hall,
) -> None:
    for number in range(200):
        name = f"visitor {number}"
        hall.audience.end(hall.begin(name))
        hall.audience.abandon(hall.begin(name))
        hall.audience.leave(name)
    hall.now += LINGER_S + 1
    hall.audience.leave("nobody")
    assert held(hall.audience) == 0


def test_calls_that_are_called_off_one_after_the_other_take_no_more_and_more_room(
    hall: Hall,
) -> None:
    """Most servers never answer what was called off, and a session may last for long."""
    hall.audience.abandon(hall.begin("bob"))
    for _ in range(5_000):
        hall.audience.abandon(hall.begin("alice"))
    assert held(hall.audience) < 500
    # She takes nobody else's place in its mind.
    assert hall.audience.callers() == {"alice", "bob"}
