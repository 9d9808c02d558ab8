"""Something that a person could answer now, and what each key would say to it."""

from collections.abc import Mapping

from msgspec import Struct

from switchboard.cli.report import Report
from switchboard.core.questions import Extent

# Whether it is agreed to, and for how long.
ANSWERS: dict[str, tuple[bool, Extent]] = {
    "y": (True, "once"),
    "s": (True, "session"),
    "n": (False, "once"),
    "a": (True, "always"),
    "v": (False, "always"),
}


class Waiting(Struct, frozen=True, kw_only=True):
    """A question, or a changed tool."""

    id: str
    # In one line, for the list of all that waits.
    title: str
    # Keys to press, and what each means.
    choices: Mapping[str, str]
    report: Report
