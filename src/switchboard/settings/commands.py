"""Command tools after merging: judged, trusted or not, frozen. One that is wrong is left out.

Unlike a wrong server, a wrong command tool does not refuse the whole configuration: the others of
its file have nothing to do with it.
"""

# On the cold-start path, where pathlib would double the cost.
# ruff: noqa: PTH118

import os
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from switchboard.config.layers import Layer, Merged
from switchboard.config.placeholders import Unfilled, expand
from switchboard.config.problems import Problem
from switchboard.core.names import MAX_TOOL_NAME, fold, is_reserved, tool_name
from switchboard.core.origins import Scope
from switchboard.core.secret_names import is_secret_name
from switchboard.providers.commands.schema import CommandEntry, CommandOmission
from switchboard.settings.fingerprints import command_seal, fingerprint
from switchboard.settings.narrowing import narrowed_command
from switchboard.settings.server_rules import loads_code
from switchboard.settings.servers import Resolution

_SECTION = "mcp"
_PLAIN = (
    *("command", "cwd", "sandbox_profile", "allow_network", "read_env_files"),
    *("requires_approval", "streaming", "description", "display_name", "allow_cwd_override"),
)
_LISTS = ("args", "read_roots", "writable_roots", "side_effects", "allow_env_overrides")


class _Wrong(Exception):  # noqa: N818 - a fact about an entry, told to its author
    """An entry that cannot be used, and what to do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class Commands:
    """Every command tool, by what can be done with it."""

    def __init__(self) -> None:
        self.usable: dict[str, CommandEntry] = {}
        self.untrusted: dict[str, CommandEntry] = {}
        self.omitted: list[CommandOmission] = []

    def bound(self) -> Iterator[CommandEntry]:
        """Those whose files count for their trust."""
        for entry in (*self.usable.values(), *self.untrusted.values()):
            if entry.fingerprint:
                yield entry


def undoubled(
    merged: Merged, layer: Layer, tools: Mapping[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """The command tools of a layer whose names are not taken.

    A tool is one entry. What another file says under its name is refused, and changes nothing.
    """
    known = {fold(name): name for name in merged.tree.get(_SECTION, {})}
    kept: dict[str, Any] = {}
    for name, fields in tools.items():
        twin = known.get(fold(name))
        if twin is None:
            kept[name] = fields
            continue
        first = merged.layers_by_name(_SECTION)[twin][0].origin((_SECTION, twin))
        message = f"the command tool `{name}` is declared twice, first in {first}: this is left out"
        problems.append(layer.problem((_SECTION, name), message, "choose another name", "warning"))
    return kept


def merged_commands(resolution: Resolution) -> Commands:
    """The command tools that may be used, those that nobody has trusted, and those left out."""
    found = Commands()
    merged = resolution.merged
    layers_of = merged.layers_by_name(_SECTION)
    tools = cast("dict[str, dict[str, Any]]", merged.tree.get(_SECTION, {}))
    for name, written in tools.items():
        layer = layers_of[name][-1]
        fields = narrowed_command(merged, name, written, resolution.problems)
        origin = layer.origin((_SECTION, name))
        try:
            _check_name(name, tools, layers_of)
            entry = _entry(resolution, name, fields, layer)
            if entry.fingerprint and resolution.waits(entry.fingerprint):
                found.untrusted[name] = entry
                continue
            _check_variables(entry, resolution.environ)
        except _Wrong as wrong:
            found.omitted.append(
                CommandOmission(name=name, reason=wrong.reason, hint=wrong.hint, origin=origin)
            )
            message = f"the command tool `{name}` is left out: {wrong.reason}"
            resolution.problems.append(
                layer.problem((_SECTION, name), message, wrong.hint, "warning")
            )
        else:
            _warn_of_arguments(entry, layer, resolution.problems)
            found.usable[name] = entry
    return found


def _entry(
    resolution: Resolution, name: str, fields: Mapping[str, Any], layer: Layer
) -> CommandEntry:
    is_theirs = layer.scope is Scope.WORKSPACE
    _check_env(fields, repository=is_theirs)
    required = resolution.merged.layer_of((_SECTION, name, "requires_approval"))
    chosen: dict[str, Any] = {key: fields[key] for key in _PLAIN if key in fields}
    chosen |= {key: tuple(fields[key]) for key in _LISTS if key in fields}
    if "timeout_ms" in fields:
        chosen["timeout_ms"] = int(fields["timeout_ms"])
    if "input_schema" in fields:
        chosen["input_schema"] = _schema(fields["input_schema"])
    entry = CommandEntry(
        name=name,
        env=dict(fields.get("env") or {}),
        required_by=required.scope if required and "requires_approval" in fields else Scope.DEFAULT,
        origin=layer.origin((_SECTION, name)),
        **chosen,
    )
    workspace = resolution.workspace
    cwd = os.path.join(workspace, _expanded_or_not(entry.cwd, resolution.environ))
    binding = resolution.record is not None
    seal = command_seal(entry, fields, workspace, cwd, binding=binding)
    print_ = fingerprint(seal, workspace) if is_theirs else ""
    return replace(entry, seal=seal, fingerprint=print_)


def _check_name(name: str, tools: Mapping[str, Any], layers_of: Mapping[str, list[Layer]]) -> None:
    if tool_name(name) != name or not name:
        raise _Wrong(
            f"clients accept no such name: letters, digits, `_` and `-`, at most {MAX_TOOL_NAME}",
            f"rename it, for example to `{tool_name(name) or 'tool'}`",
        )
    if is_reserved(name):
        raise _Wrong("its name is reserved", "rename it")
    twins = [other for other in tools if other != name and fold(other) == fold(name)]
    if twins:
        places = " and ".join(
            f"`{twin}` ({layers_of[twin][-1].origin((_SECTION, twin))})" for twin in twins
        )
        raise _Wrong(f"its name differs only in case from that of {places}", "rename one of them")


def _check_env(fields: Mapping[str, Any], *, repository: bool) -> None:
    for key in (*fields.get("env", ()), *fields.get("allow_env_overrides", ())):
        if loads_code(key, repository=repository):
            raise _Wrong(f"`{key}` can make the program run foreign code and is not allowed here")


def _check_variables(entry: CommandEntry, environ: Mapping[str, str]) -> None:
    """Every `${VAR}` has a value now; which one is looked up at each start."""
    for text in (entry.command, entry.cwd, *entry.args, *entry.env.values()):
        try:
            expand(text, environ)
        except Unfilled as unfilled:
            raise _Wrong(unfilled.message, unfilled.hint) from None


def _warn_of_arguments(entry: CommandEntry, layer: Layer, problems: list[Problem]) -> None:
    for index, item in enumerate(entry.args):
        named = item.partition("${")[2].partition("}")[0].partition(":")[0]
        if named and is_secret_name(named):
            at = (_SECTION, entry.name, "args", index)
            message = f"everybody on this machine can read `{named}` in the list of processes"
            hint = f'give it in `env`: `{named} = "${{{named}}}"`'
            problems.append(layer.problem(at, message, hint, "warning"))


def _schema(written: Mapping[str, Any]) -> Raw:
    if written.get("type") != "object":
        raise _Wrong('`input_schema` must be that of an object: `type = "object"`')
    return Raw(msgspec.json.encode(written))


def _expanded_or_not(text: str, environ: Mapping[str, str]) -> str:
    try:
        return expand(text, environ)
    except Unfilled:
        return text
