"""docs/cli.md is complete: every command and every option stands in it."""

import re

from support.workspace import CHECKOUT
from switchboard.cli.options import GLOBAL_OPTIONS
from switchboard.cli.table import VERBS, loaded
from switchkit.cli.usage import Usage

PAGE = (CHECKOUT / "docs" / "cli.md").read_text("utf-8")


def test_every_command_has_a_heading() -> None:
    headings = " ".join(re.findall(r"^### (.*)$", PAGE, re.MULTILINE))
    assert [verb for verb in VERBS if f"`{verb}" not in headings] == []


def test_every_option_is_explained() -> None:
    options = {option.flag for option in GLOBAL_OPTIONS}
    for verb in VERBS.values():
        usage: Usage = loaded(verb.module).USAGE
        options |= {option.flag for option in usage.options}
    assert [flag for flag in sorted(options) if f"{flag}" not in PAGE] == []


def test_the_table_of_verbs_and_their_own_words_agree() -> None:
    for name, verb in VERBS.items():
        usage: Usage = loaded(verb.module).USAGE
        assert usage.verb == name
        assert usage.summary.endswith(".")
        assert not verb.summary.endswith(".")
