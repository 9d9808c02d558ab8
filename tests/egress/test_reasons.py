"""Every reason why a host is refused is in the docs, and in the code."""

import re

from support.workspace import CHECKOUT
from switchboard.egress.refusals import REASONS


def test_the_table_of_reasons_is_that_of_the_code() -> None:
    text = (CHECKOUT / "docs" / "egress.md").read_text("utf-8")
    table = text.partition("| reason | means |\n|---|---|\n")[2].partition("\n\n")[0]
    assert dict(re.findall(r"\| `([a-z-]+)` \| (.*) \|", table)) == REASONS


def test_no_reason_is_given_that_is_not_listed_and_none_is_listed_in_vain() -> None:
    sources = [*(CHECKOUT / "src" / "switchboard" / "egress").glob("*.py")]
    sources.append(CHECKOUT / "src/switchboard/daemon/board/egress_questions.py")
    given: set[str] = set()
    for path in sources:
        text = path.read_text("utf-8")
        if path.name == "refusals.py":
            text = text.partition("class EgressRefusal")[2]
        given |= set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', text)) & set(REASONS)
        named = re.findall(r'(?:EgressRefusal|Unreached)\(\s*"([^"]+)"', text)
        assert set(named) <= set(REASONS), path.name
    assert given == set(REASONS)
