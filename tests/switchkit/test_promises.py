"""The page of platforms says what the table of promises says."""

from pathlib import Path

import pytest

from switchkit.platform import promises
from switchkit.platform.promises import PROMISES, as_markdown, promise_lines

PAGE = Path(__file__).parents[2] / "docs" / "platforms.md"


def test_the_page_has_the_table_of_promises() -> None:
    assert as_markdown() in PAGE.read_text("utf-8")


def test_people_are_told_what_holds_less_first_and_what_the_words_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(promises, "_IS_MACOS", True)
    first, *lines, last = promise_lines()
    named = [line.split()[0] for line in lines]
    for standing in ("absent", "weaker", "unproven", "simulated"):
        wanted = sum(each.macos == standing for each in PROMISES)
        assert f"{wanted} {standing}" in first
        assert named.count(standing) == (0 if standing == "simulated" else wanted)
    assert named == sorted(named, key=["absent", "weaker", "unproven"].index)
    assert last.startswith("simulated: tried on Linux")
    monkeypatch.undo()
    assert promise_lines() == [f"{len(PROMISES)} proved"]


def test_nothing_is_called_proved_on_a_system_that_runs_no_tests() -> None:
    assert {each.macos for each in PROMISES} <= {"simulated", "unproven", "weaker", "absent"}
    assert all(each.less for each in PROMISES)
