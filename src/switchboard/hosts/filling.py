"""Variables as hosts write them, in ours: `${NAME}`. No value is ever looked up."""

import re
from collections.abc import Mapping
from typing import Any, cast

from switchboard.hosts.host import Filling

_BRACES = re.compile(r"\$\{([^{}]*+)\}")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLAIN = re.compile(rf"{_NAME}(?::-.*)?", re.DOTALL)
_ENV = re.compile(rf"env:({_NAME})")
_DOLLAR = re.compile(rf"\$({_NAME})|\$\{{({_NAME})\}}")
_ENV_BRACES = re.compile(r"\{(env|file):([^{}]*+)\}")
# What editors fill in besides, which is put into our words where a server is written.
_EDITOR = ("workspaceFolder", "userHome", "pathSeparator", "/", "input:")


class Unfillable(Exception):
    """Why a value means nothing away from its host."""


def filled(value: Any, filling: Filling, own: Mapping[str, str] | None = None) -> Any:
    """A value of an entry with its variables in our words. `own` are those of the entry.

    Raises `Unfillable`.
    """
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {key: filled(each, filling, own) for key, each in members.items()}
    if isinstance(value, list):
        return [filled(each, filling, own) for each in cast("list[Any]", value)]
    return _text(value, filling, own or {}) if isinstance(value, str) else value


def _text(value: str, filling: Filling, own: Mapping[str, str]) -> str:
    if filling == "dollar":
        return _DOLLAR.sub(lambda found: f"${{{found[1] or found[2]}}}", value)
    if filling == "own":
        return _literal(_DOLLAR.sub(lambda found: _of_entry(found, own), value))
    if filling == "env-braces":
        return _ENV_BRACES.sub(_from_braces, _literal(value))
    if filling == "env":
        return _BRACES.sub(_from_editor, value)
    return _literal(value, but=_PLAIN if filling == "braces" else None)


def _literal(value: str, *, but: re.Pattern[str] | None = None) -> str:
    """A value that its host passes on as it is, which we would fill in."""
    for found in _BRACES.finditer(value):
        if but is None or but.fullmatch(found[1]) is None:
            raise Unfillable(_passed_on(found[0]))
    return value


def _passed_on(text: str) -> str:
    return f"its host passes `{text}` on as it is written, and Switchboard would fill it in"


def _from_editor(found: re.Match[str]) -> str:
    name = _ENV.fullmatch(found[1])
    if name is not None:
        return f"${{{name[1]}}}"
    if found[1].startswith("file:"):
        raise Unfillable(f"its host reads `{found[0]}` from a file")
    if found[1].startswith(_EDITOR):
        return found[0]
    raise Unfillable(_passed_on(found[0]))


def _from_braces(found: re.Match[str]) -> str:
    if found[1] == "file":
        raise Unfillable(f"its host reads `{found[0]}` from a file")
    return f"${{{found[2]}}}"


def _of_entry(found: re.Match[str], own: Mapping[str, str]) -> str:
    name = found[1] or found[2]
    if name not in own:
        raise Unfillable(f"its host fills `{found[0]}` from what it keeps")
    return own[name]
