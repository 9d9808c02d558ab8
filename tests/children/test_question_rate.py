"""A child may ask a few questions at once, and after that not faster than a person can bear."""

from switchboard.children.inbound.question_rate import MOST_AT_ONCE, PER_MINUTE, QuestionRate

FORM = ["elicitation/create"]


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_so_many_are_asked_at_once_and_then_so_many_a_minute() -> None:
    clock = Clock()
    pace = QuestionRate(clock)
    assert sum(pace.allows("one", FORM) for _ in range(500)) == MOST_AT_ONCE
    allowed = 0
    for _ in range(6_000):
        clock.now += 0.1
        allowed += pace.allows("one", FORM)
    assert allowed in range(10 * PER_MINUTE - 1, 10 * PER_MINUTE + 1)
    clock.now += 3_600
    assert sum(pace.allows("one", FORM) for _ in range(500)) == MOST_AT_ONCE


def test_each_session_is_asked_at_its_own_pace() -> None:
    pace = QuestionRate(Clock())
    assert pace.allows("one", FORM * MOST_AT_ONCE)
    assert not pace.allows("one", FORM)
    assert pace.allows("two", FORM)


def test_what_is_refused_does_not_count() -> None:
    pace = QuestionRate(Clock())
    assert not pace.allows("one", FORM * (MOST_AT_ONCE + 1))
    assert pace.allows("one", FORM * MOST_AT_ONCE)


def test_only_what_is_shown_to_a_person_counts() -> None:
    pace = QuestionRate(Clock())
    assert pace.allows("one", ["sampling/createMessage", "roots/list"] * 500)
    assert pace.allows("one", FORM * MOST_AT_ONCE)
    assert pace.allows("one", ["sampling/createMessage"])
