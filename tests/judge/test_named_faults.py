"""The table of faults names tests that are there."""

import re

from support.workspace import CHECKOUT

PAGE = CHECKOUT / "docs" / "decisions" / "0131-what-proves-that-a-team-survives.md"
FAULTS = 15


def test_each_fault_of_the_table_has_a_test_that_is_there() -> None:
    rows = re.findall(r"^\| (\d+) \| .* \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, FAULTS + 1))
    for _, named in rows:
        places = re.findall(r"`([^`]+)`", named)
        assert places
        for place in places:
            path, _, name = place.partition("::")
            text = (CHECKOUT / "tests" / path).read_text("utf-8")
            assert f"def {name}(" in text or not name, place
