"""The items of a command line, with `{name}` for the arguments of a call.

An item stays one item whatever an argument holds: there is no shell, and nothing is split. An item
whose argument is not given is left out.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.text.strict import canonical

# `${NAME}` is for the configuration, `{{name}}` stands for the characters themselves.
_PLACEHOLDER = re.compile(r"(?<![${])\{([A-Za-z_][A-Za-z0-9_-]*)\}(?!\})")
_ESCAPED = re.compile(r"\{(\{[A-Za-z_][A-Za-z0-9_-]*\})\}")
_END_OF_OPTIONS = "--"

# Fills `${VAR}`.
Expand = Callable[[str], str]


def names_in(items: tuple[str, ...]) -> frozenset[str]:
    """The arguments that a command line has a place for."""
    return frozenset(name for item in items for name in _PLACEHOLDER.findall(item))


def fill(items: tuple[str, ...], arguments: Mapping[str, Any], expand: Expand) -> tuple[str, ...]:
    """The items of a command line for these arguments. Raises an `invalid_argument` fault."""
    filled: list[str] = []
    ended = False
    for item in items:
        made = _filled(item, arguments, expand, options_ended=ended)
        if made is not None:
            filled.append(made)
        ended = ended or item == _END_OF_OPTIONS
    return tuple(filled)


def _filled(
    item: str, arguments: Mapping[str, Any], expand: Expand, *, options_ended: bool
) -> str | None:
    parts: list[str] = []
    at = 0
    for found in _PLACEHOLDER.finditer(item):
        parts.append(_literal(item[at : found.start()], expand))
        value = arguments.get(found[1])
        if value is None:
            return None
        text = _text(found[1], value)
        # Whoever calls may choose a value, not an option of the program.
        if text.startswith("-") and not any(parts) and not options_ended and _is_text(value):
            raise _refused(
                found[1],
                "it begins with `-`, which the program could take for an option",
                "write a path as `./-name`",
            )
        parts.append(text)
        at = found.end()
    return "".join((*parts, _literal(item[at:], expand)))


def _literal(text: str, expand: Expand) -> str:
    return _ESCAPED.sub(r"\1", expand(text)) if text else ""


def _text(name: str, value: Any) -> str:
    # A number is kept as a text of its digits.
    text = str(value) if isinstance(value, str) else canonical(value).decode()
    if "\0" in text:
        raise _refused(name, "it holds a NUL character")
    return text


def _is_text(value: Any) -> bool:
    return type(value) is str


def _refused(name: str, why: str, hint: str = "") -> Fault:
    return Fault(
        FaultCode.INVALID_ARGUMENT, "argument-refused", f"the argument `{name}`: {why}", hint=hint
    )
