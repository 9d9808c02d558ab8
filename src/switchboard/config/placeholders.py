"""`${VAR}` in TOML values, filled from the environment.

`${VAR}` must be set, `${VAR:-text}` falls back to the text, and `$${` stands for `${` itself. Any
other `$` means nothing and stays.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

# Compiled on first use: few files have placeholders.
_PLACEHOLDER = r"\$(\$\{|\{([^}]*)\}|\{)"
_INSIDE = r"(?s)([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?"


class Unfilled(Exception):
    """The text cannot be expanded."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def has_placeholder(text: str) -> bool:
    """Whether the text looks as if its author expected an expansion."""
    return "${" in text


def expand(text: str, environ: Mapping[str, str]) -> str:
    """The text with every placeholder filled, or `Unfilled`."""
    if "${" not in text:
        return text

    def fill(found: re.Match[str]) -> str:
        if found[1] == "${":
            return "${"
        inside = re.fullmatch(_INSIDE, found[2] or "")
        if inside is None:
            raise Unfilled(
                f"`{found[0]}` is not a placeholder",
                "write `${NAME}`, `${NAME:-default}`, or `$${` for the characters themselves",
            )
        value = environ.get(inside[1])
        if inside[2] is not None:
            return value or inside[2]
        if value is None:
            raise Unfilled(
                f"the environment variable `{inside[1]}` is not set",
                f"set `{inside[1]}`, or give a default with `${{{inside[1]}:-…}}`",
            )
        return value

    return re.sub(_PLACEHOLDER, fill, text)


def variables_in(value: Any) -> Iterator[str]:
    """The variables that a tree of values would be filled from."""
    if isinstance(value, str):
        for found in re.finditer(_PLACEHOLDER, value) if "${" in value else ():
            if inside := re.fullmatch(_INSIDE, found[2] or ""):
                yield inside[1]
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from variables_in(inner)
    elif isinstance(value, list | tuple):
        for inner in cast("list[Any]", value):
            yield from variables_in(inner)


def expand_tree(
    value: Any,
    environ: Mapping[str, str],
    at: tuple[str | int, ...],
    refused: list[tuple[tuple[str | int, ...], Unfilled]],
) -> Any:
    """A copy of the tree with every string expanded; what cannot be filled goes to `refused`."""
    if isinstance(value, str):
        try:
            return expand(value, environ)
        except Unfilled as unfilled:
            refused.append((at, unfilled))
            return value
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            name: expand_tree(inner, environ, (*at, name), refused)
            for name, inner in members.items()
        }
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [
            expand_tree(inner, environ, (*at, index), refused) for index, inner in enumerate(items)
        ]
    return value
