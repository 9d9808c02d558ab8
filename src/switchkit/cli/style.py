"""Colour for terminals that want it. It never carries a meaning alone."""

import contextlib
import os
import re
from collections.abc import Mapping
from typing import TextIO

# Everything that steers a terminal, except line ends, tabs and the marks of `Style`.
# And what turns the direction of writing, or is not seen.
_STEERING = (
    r"\x1b(?!\[(?:0|1|2|31|32|33|36)m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]"
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


# What is taken for the width of a terminal that does not know its own.
COLUMNS = 80


class Style:
    """Marks up text, or leaves it as it is."""

    __slots__ = ("_home", "_is_on", "columns")

    def __init__(self, *, is_on: bool = False, columns: int = COLUMNS, home: str = "") -> None:
        self._is_on = is_on
        # How wide the place is where the text goes; 0 where nothing has to fit, as in a pipe.
        self.columns = columns
        self._home = home.rstrip(os.sep)

    def of_width(self, columns: int) -> "Style":
        """The same for another place."""
        return Style(is_on=self._is_on, columns=columns, home=self._home)

    def paths(self, text: str) -> str:
        """The text with `~` for the home of the user, where a path begins with it."""
        if not self._home or self._home not in text:
            return text
        return re.sub(rf"(?<![\w./~-]){re.escape(self._home)}(?=/|$|[\s:,'\"])", "~", text)

    def bold(self, text: str) -> str:
        return self._marked(text, "1")

    def dim(self, text: str) -> str:
        return self._marked(text, "2")

    def red(self, text: str) -> str:
        return self._marked(text, "31")

    def green(self, text: str) -> str:
        return self._marked(text, "32")

    def yellow(self, text: str) -> str:
        return self._marked(text, "33")

    def cyan(self, text: str) -> str:
        return self._marked(text, "36")

    def _marked(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._is_on and text else text


PLAIN = Style()


def style_for(stream: TextIO, environ: Mapping[str, str]) -> Style:
    """Colour on a terminal, unless `NO_COLOR` is set or the terminal is a dumb one."""
    wanted = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    is_seen = is_terminal(stream)
    return Style(
        is_on=wanted and is_seen,
        columns=columns_of(stream) if is_seen else 0,
        home=environ.get("HOME", ""),
    )


def columns_of(stream: TextIO) -> int:
    """How wide the terminal is now."""
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or COLUMNS
    return COLUMNS


def is_terminal(stream: TextIO) -> bool:
    """Whether a person may be looking. A closed stream has no one."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def safe_for_terminals(text: str) -> str:
    """The text without anything that could steer a terminal, as a server's answer might."""
    return re.sub(_STEERING, "\N{REPLACEMENT CHARACTER}", text)
