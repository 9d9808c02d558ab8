"""Shapes that several reports share: tables, values as JSON, hints."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from switchboard.config.problems import shown_path
from switchkit.cli.columns import columns as plain_columns
from switchkit.cli.style import Style


def columns(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Style,
    *,
    right: Sequence[int] = (),
    elastic: Sequence[int] = (),
    spare: Sequence[int] = (),
    ends: Sequence[int] = (),
    paint: Callable[[int, int, str], str] | None = None,
) -> Iterator[str]:
    """A table with a heading, each column as wide as its widest cell.

    With `elastic` columns it fits into the terminal: their cells are cut as far as it takes, and
    `spare` columns are left out where even that is too wide. Of the columns in `ends` a cut cell
    keeps its end. `paint` marks up a cell by its row, its column and its text.
    """
    width = style.columns if elastic else 0
    first, *others = plain_columns(
        (heads, *rows),
        right=right,
        width=width,
        elastic=elastic,
        spare=spare,
        ends=ends,
        # The heading is the first row of a table.
        paint=(lambda row, at, cell: paint(row - 1, at, cell) if row else cell) if paint else None,
    )
    yield style.bold(first)
    yield from others


def as_json(value: Any, *, indent: int = 0) -> str:
    """A value in one line, or indented for reading."""
    raw = msgspec.json.encode(value)
    return (msgspec.json.format(raw, indent=indent) if indent else raw).decode()


def shown_origin(scope: str, path: str, line: int, workspace: str, user_home: str = "") -> str:
    """Where something was written, with a path that is short where it can be."""
    if not path:
        return scope
    path = shown_path(path, workspace=workspace, user_home=user_home)
    return f"{path}:{line}" if line else path


def hint(style: Style, text: str) -> str:
    """A line that says what to type next."""
    return f"{style.cyan('hint:')} {text}"


def warning(style: Style, text: str) -> str:
    return f"{style.yellow('warning:')} {text}"
