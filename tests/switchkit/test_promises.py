"""The page of platforms says what the table of promises says."""

from pathlib import Path

from switchkit.platform.promises import PROMISES, as_markdown

PAGE = Path(__file__).parents[2] / "docs" / "platforms.md"


def test_the_page_has_the_table_of_promises() -> None:
    assert as_markdown() in PAGE.read_text("utf-8")


def test_nothing_is_called_proved_on_a_system_that_runs_no_tests() -> None:
    assert {each.macos for each in PROMISES} <= {"simulated", "unproven", "weaker", "absent"}
    assert all(each.less for each in PROMISES)
