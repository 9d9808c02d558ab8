"""`${VAR}` in TOML values, filled from the environment.

`${VAR}` must be set, `${VAR:-text}` falls back to the text, and `$${` stands for `${` itself. Any
other `$` means nothing and stays. `${vault:…}` names a secret that is filled in later, where that
is allowed: at the last moment, by whoever may have it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

# Compiled on first use: few files have placeholders.
# One without an end takes the rest of the text: to look for its end again from each next beginning
# would take a time that grows with the square of the text.
_PLACEHOLDER = r"\$(\$\{|\{([^}]*+)\}|\{[^}]*+)"
_INSIDE = r"(?s)([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?"
_LATE = r"\$\$\{|\$\{(vault:[^}]*+)\}|\$\{vault:[^}]*+"


class Unfilled(Exception):
    """The text cannot be expanded."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def has_placeholder(text: str) -> bool:
    """Whether the text looks as if its author expected an expansion."""
    return "${" in text


def expand(text: str, environ: Mapping[str, str], *, vault: bool = False) -> str:
    """The text with every placeholder filled, or `Unfilled`.

    With `vault`, a text that names secrets keeps those: `fill_vault` does the rest.
    """
    if "${" not in text:
        return text
    is_late = vault and bool(vault_references_in(text))

    def fill(found: re.Match[str]) -> str:
        if found[1] == "${":
            return found[0] if is_late else "${"
        if (found[2] or "").startswith("vault:"):
            if is_late:
                return found[0]
            raise Unfilled(
                f"`{found[0]}` is not filled in here",
                "secrets of the vault stand in `env`, `headers` and `secret_env` of a server",
            )
        inside = re.fullmatch(_INSIDE, found[2] or "")
        if inside is None:
            raise Unfilled(
                f"`{'${' if found[2] is None else found[0]}` is not a placeholder",
                "write `${NAME}`, `${NAME:-default}`, or `$${` for the characters themselves",
            )
        value = environ.get(inside[1])
        if inside[2] is not None:
            return _kept(value or inside[2]) if is_late else value or inside[2]
        if value is None:
            raise Unfilled(
                f"the environment variable `{inside[1]}` is not set",
                f"set `{inside[1]}`, or give a default with `${{{inside[1]}:-…}}`",
            )
        return _kept(value) if is_late else value

    return re.sub(_PLACEHOLDER, fill, text)


def vault_references_in(text: str) -> tuple[str, ...]:
    """The secrets that a text names, with `vault:` before each."""
    if "${vault:" not in text:
        return ()
    return tuple(found[1] for found in re.finditer(_LATE, text) if found[1])


def fill_vault(text: str, look_up: Callable[[str], str]) -> str:
    """The text with its secrets filled in, after `expand` has filled in the rest."""

    def fill(found: re.Match[str]) -> str:
        if found[1]:
            return look_up(found[1])
        return "${" if found[0] == "$${" else found[0]

    return re.sub(_LATE, fill, text)


def _kept(value: str) -> str:
    """A value that is not taken for a placeholder when the secrets are filled in."""
    return value.replace("${", "$${")


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
    *,
    vault: bool = False,
) -> Any:
    """A copy of the tree with every string expanded; what cannot be filled goes to `refused`."""
    if isinstance(value, str):
        try:
            return expand(value, environ, vault=vault)
        except Unfilled as unfilled:
            refused.append((at, unfilled))
            return value
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            name: expand_tree(inner, environ, (*at, name), refused, vault=vault)
            for name, inner in members.items()
        }
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [
            expand_tree(inner, environ, (*at, index), refused, vault=vault)
            for index, inner in enumerate(items)
        ]
    return value
