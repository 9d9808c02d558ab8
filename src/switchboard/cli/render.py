"""Shapes that several reports share: columns, counted nouns, values as JSON."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from switchboard.cli.style import Style

_GAP = "  "


def columns(
    heads: Sequence[str], rows: Sequence[Sequence[str]], style: Style, *, right: Sequence[int] = ()
) -> Iterator[str]:
    """A table with a heading, each column as wide as its widest cell."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return _GAP.join(padded).rstrip()

    yield style.bold(line(heads))
    for row in rows:
        yield line(row)


def visible(text: str) -> str:
    """The text in one line, with every character that could deceive the eye written out.

    Names and commands come from files of others. Control characters could repaint what stands
    beside them, such as the command that a user is about to trust.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def counted(number: int, noun: str) -> str:
    """`1 server`, `2 servers`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def as_json(value: Any, *, indent: int = 0) -> str:
    """A value in one line, or indented for reading."""
    raw = msgspec.json.encode(value)
    return (msgspec.json.format(raw, indent=indent) if indent else raw).decode()


def shown_origin(scope: str, path: str, line: int, workspace: str) -> str:
    """Where something was written, with a path that is short where it can be."""
    if not path:
        return scope
    if path.startswith(workspace + os.sep):
        path = path[len(workspace) + 1 :]
    return f"{path}:{line}" if line else path


def hint(style: Style, text: str) -> str:
    """A line that says what to type next."""
    return f"{style.cyan('hint:')} {text}"


def warning(style: Style, text: str) -> str:
    return f"{style.yellow('warning:')} {text}"
