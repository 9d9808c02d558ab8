"""What counts as lost, and what the table shows."""

import pytest

from conformance.suite import Check, Outcome
from conformance.verdicts import Row, is_lost, table, weaker


def outcome(*checks: str, problem: str = "") -> Outcome:
    parts = [check.partition("=") for check in checks]
    return Outcome(tuple(Check(id_, status, "") for id_, _, status in parts), problem)


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (outcome("a=SUCCESS"), outcome("a=SUCCESS"), False),
        (outcome("a=SUCCESS"), outcome("a=FAILURE"), True),
        (outcome("a=SUCCESS"), outcome(problem="no result"), True),
        (outcome("a=SUCCESS"), outcome("a=INFO"), True),
        (outcome("a=SUCCESS", "b=SUCCESS"), outcome("a=SUCCESS", "b=WARNING"), False),
        (outcome("a=FAILURE"), outcome("a=FAILURE"), False),
        (outcome("a=FAILURE"), outcome("a=SUCCESS"), False),
        (outcome("a=FAILURE"), outcome("a=FAILURE", "b=FAILURE"), True),
        (outcome("a=FAILURE"), outcome("a=FAILURE", "a=FAILURE"), True),
        (outcome("a=FAILURE"), outcome(problem="no result"), True),
        (outcome(problem="no result"), outcome(problem="no result"), False),
    ],
)
def test_a_scenario_is_lost_when_it_fails_or_fails_worse(
    before: Outcome, after: Outcome, *, lost: bool
) -> None:
    assert is_lost(before, after) is lost


def test_a_check_that_only_warns_makes_a_scenario_weaker() -> None:
    before = outcome("a=SUCCESS", "b=SUCCESS")
    assert weaker(before, outcome("a=SUCCESS", "b=WARNING")) == ["b"]
    assert weaker(before, before) == []


def test_the_table_shows_every_way_that_was_run() -> None:
    good, bad = outcome("a=SUCCESS"), outcome("a=SUCCESS", "b=FAILURE", "c=WARNING")
    rows = [
        Row("one", "2026-07-28", {"direct": good, "behind": bad._replace(again=True)}),
        Row("two", "2025-11-25", {"direct": good}),
    ]
    assert table(rows, ["direct", "behind"]).splitlines() == [
        "scenario  version     direct  behind",
        "one       2026-07-28  1/1     1/2 1 warned FAILS *",
        "two       2025-11-25  1/1",
        "* on its second run, alone",
    ]
