"""Settings from environment variables and command-line flags, typed.

This is the one module that reads the environment of the process; everybody else is handed it.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from switchboard.config.key_positions import KeyPath
from switchboard.config.layers import Layer
from switchboard.config.problems import Problem, quoted
from switchboard.config.strict import Items, Text, Truth, Whole
from switchboard.core.origins import Scope
from switchkit.suggest import did_you_mean

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class Variable(Struct, frozen=True, kw_only=True):
    """An environment variable or a flag: the key that it sets, and what the key may hold."""

    name: str
    key: KeyPath
    kind: Any


def process_environ() -> dict[str, str]:
    """A copy of the environment of this process."""
    return dict(os.environ)


def environment_layer(
    variables: Iterable[Variable], environ: Mapping[str, str], problems: list[Problem]
) -> Layer:
    """What the environment sets. An empty variable counts as unset; of two, the later one wins."""
    tree: dict[str, Any] = {}
    written: dict[KeyPath, KeyPath] = {}
    for variable in variables:
        text = environ.get(variable.name)
        if not text or not text.strip():
            continue
        _set(tree, written, variable, text, scope=Scope.ENVIRONMENT, problems=problems)
    return Layer(scope=Scope.ENVIRONMENT, tree=tree, written=written)


def flags_layer(
    known: Mapping[str, Variable], flags: Mapping[str, Any], problems: list[Problem]
) -> Layer:
    """What the command line sets. A flag of `None` was not given."""
    tree: dict[str, Any] = {}
    written: dict[KeyPath, KeyPath] = {}
    for name, value in flags.items():
        if value is None:
            continue
        flag = known.get(name)
        if flag is None:
            meant = did_you_mean(name, known)
            problems.append(
                Problem(
                    path=str(Scope.FLAG),
                    key=name,
                    message=f"unknown flag `{name}`",
                    hint=f"did you mean `{meant}`?" if meant else "",
                )
            )
            continue
        _set(tree, written, flag, str(value), scope=Scope.FLAG, problems=problems)
    return Layer(scope=Scope.FLAG, tree=tree, written=written)


def _set(
    tree: dict[str, Any],
    written: dict[KeyPath, KeyPath],
    variable: Variable,
    text: str,
    *,
    scope: Scope,
    problems: list[Problem],
) -> None:
    value, wanted = _typed(variable.kind, text.strip())
    if wanted:
        meant = did_you_mean(text.strip(), getattr(variable.kind, "choices", ()))
        problems.append(
            Problem(
                path=str(scope),
                key=variable.name,
                message=f"`{variable.name}` must be {wanted}, not {quoted(text)}",
                hint=f"did you mean `{meant}`?" if meant else "",
            )
        )
        return
    table = tree
    for step in variable.key[:-1]:
        table = table.setdefault(str(step), {})
    table[str(variable.key[-1])] = value
    written[variable.key] = (variable.name,)


def _typed(kind: Any, text: str) -> tuple[Any, str]:
    """The value and nothing, or nothing and what was wanted."""
    match kind:
        case Truth():
            word = text.casefold()
            return (word in _TRUE, "") if word in _TRUE | _FALSE else (None, "`1` or `0`")
        case Whole(maximum=most):
            fits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
            if fits and int(text) <= most:
                return int(text), ""
            return None, f"a whole number from 0 to {most}"
        case Items():
            return [word.strip() for word in text.split(",") if word.strip()], ""
        case Text(choices=choices) if choices and text.casefold() not in choices:
            return None, " or ".join(f"`{choice}`" for choice in choices)
        case _:
            return (text.casefold() if kind.choices else text), ""
