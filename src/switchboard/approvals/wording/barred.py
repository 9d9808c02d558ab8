"""Words of others on a line of ours: they cannot begin one, and hide nothing."""

from collections.abc import Iterator

from switchboard.core.privacy.cleaning import written_out
from switchkit.cli.columns import wrapped

MAX_LINE = 2_000
_BAR = "  | "
_INDENT = "  "


def barred(text: str) -> Iterator[str]:
    """Words of others, and what they want to do: no line of it can be taken for one of ours."""
    return (f"{_BAR}{line}" for line in text.splitlines())


def rows_of(line: str, columns: int) -> Iterator[str]:
    """A line of a question in rows of so many columns; only its first can begin at the margin.

    Wherever a row ends, what follows is no line of ours: whoever writes a long line chooses what
    stands in its middle.
    """
    if line.startswith(_BAR):
        return wrapped(line, columns, _BAR)
    return wrapped(line, columns, _INDENT * (2 if line.startswith(_INDENT) else 1))


def plain(text: str) -> str:
    """A name or a value within one line."""
    shown = written_out(text)
    return shown if len(shown) <= MAX_LINE else f"{shown[:MAX_LINE]} … (cut)"
