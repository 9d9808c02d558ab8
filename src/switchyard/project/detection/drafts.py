"""One service as a first `switchyard.toml` names it, and how it is written there."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from switchyard.config.reader import words_of
from switchyard.config.shell_syntax import shell_syntax

# Whoever wrote these in a line for a shell meant them so, also within a word.
_FOR_SHELLS = "$`*?~#()<>|&;\n"


class Draft(NamedTuple):
    """One service to write. Braces in `command` are placeholders; `plain` makes them letters."""

    name: str
    command: str
    port: int | None = None
    cwd: str = "."
    env: Mapping[str, str] = MappingProxyType({})
    depends_on: Mapping[str, str] = MappingProxyType({})
    options: tuple[tuple[str, str], ...] = ()
    """Further keys, each with its value as TOML writes it."""


class DetectedPart(NamedTuple):
    """What a look found: the kind of project, its services, and what a person should know."""

    kind: str
    drafts: tuple[Draft, ...]
    notes: tuple[str, ...] = ()


def plain(command: str) -> str:
    """A command of somebody else, whose braces mean nothing to Switchyard."""
    return command.replace("{", "{{").replace("}", "}}")


def table(value: Any) -> dict[str, Any]:
    """The value as a table; an empty one where it is something else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def quoted(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False)


def service_name(text: str) -> str:
    """A name that needs no quotes in TOML."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", text).strip("-") or "app"


def _needs_shell(command: str) -> bool:
    if any(sign in command for sign in _FOR_SHELLS):
        return True
    try:
        return shell_syntax(words_of(command)) is not None
    except (ValueError, IndexError):
        return True


def written(draft: Draft) -> str:
    """The table of one service."""
    lines = [f"\n[services.{draft.name}]", f"command = {quoted(draft.command)}"]
    if _needs_shell(draft.command):
        lines.append("shell = true")
    if draft.cwd != ".":
        lines.append(f"cwd = {quoted(draft.cwd)}")
    if draft.port is not None:
        lines.append(f"port = {draft.port}")
    if draft.depends_on:
        pairs = ", ".join(f"{name} = {quoted(one)}" for name, one in draft.depends_on.items())
        lines.append(f"depends_on = {{ {pairs} }}")
    lines += [f"{key} = {value}" for key, value in draft.options]
    if draft.env:
        pairs = ", ".join(f"{key} = {quoted(one)}" for key, one in draft.env.items())
        lines.append(f"env = {{ {pairs} }}")
    return "\n".join(lines) + "\n"
