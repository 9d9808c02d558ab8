"""Words of others on a line of ours: they cannot begin one, and hide nothing."""

from collections.abc import Iterator

from switchboard.core.privacy.cleaning import written_out

MAX_LINE = 2_000


def barred(text: str) -> Iterator[str]:
    """Words of others, and what they want to do: no line of it can be taken for one of ours."""
    return (f"  | {line}" for line in text.splitlines())


def plain(text: str) -> str:
    """A name or a value within one line."""
    shown = written_out(text)
    return shown if len(shown) <= MAX_LINE else f"{shown[:MAX_LINE]} … (cut)"
