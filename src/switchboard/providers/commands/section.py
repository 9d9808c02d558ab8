"""The section `[mcp]`: what it may hold, and how its merged fields become command tools.

A tool that is wrong is left out. Unlike a wrong server, it does not refuse the whole configuration:
the others of its file have nothing to do with it.
"""

import os
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from switchboard.children.starting.bytecode import shuts_bytecode
from switchboard.config.key_positions import KeyPath
from switchboard.config.keys import Field, Section
from switchboard.config.layers import Layer, MergedLayers
from switchboard.config.placeholders import Unfilled, expand
from switchboard.config.problems import Problem, Severity
from switchboard.config.strict import Anything, Items, Members, Text, Truth, Whole
from switchboard.core.catalog.names import MAX_TOOL_NAME, fold, tool_name
from switchboard.core.network.egress import egress_from
from switchboard.core.origins import Scope
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.providers.commands.schema import CommandEntry, CommandOmission, CommandTools
from switchboard.providers.table import is_reserved
from switchboard.settings.files.server_shapes import SERVER_OBJECT
from switchboard.settings.fingerprints import as_written, bound_values, fingerprint, seal_of
from switchboard.settings.rules.egress_rules import judge_egress, without_foreign_egress
from switchboard.settings.secret_rules import loads_code
from switchboard.settings.server_fields import ENV_NAME
from switchboard.settings.servers import Resolution

_SECTION = "mcp"
_HOSTS = ("egress", "egress_ask")
_NAME = Text(pattern=ENV_NAME, says="a name of letters, digits and `_`")


class _Wrong(Exception):
    """An entry that cannot be used, and what to do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def _undoubled(
    merged: MergedLayers, layer: Layer, tools: dict[str, Any], problems: list[Problem]
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


def read_commands(resolution: Resolution) -> CommandTools | None:
    """The command tools that may be used, those that nobody has trusted, and those left out."""
    usable: dict[str, CommandEntry] = {}
    untrusted: dict[str, CommandEntry] = {}
    omitted: list[CommandOmission] = []
    merged = resolution.merged
    layers_of = merged.layers_by_name(_SECTION)
    tools = cast("dict[str, dict[str, Any]]", merged.tree.get(_SECTION, {}))
    for name, written in tools.items():
        layer = layers_of[name][-1]
        fields = _confined(merged, name, written, resolution.problems)
        fields = without_foreign_egress(
            "command tool", name, fields, layers_of[name], resolution.problems
        )
        origin = layer.origin((_SECTION, name))
        try:
            _check_name(name, tools, layers_of)
            entry = _entry(resolution, name, fields, layer)
            if entry.fingerprint and resolution.waits(entry.fingerprint):
                seal = as_written(entry.seal)
                print_ = fingerprint(seal, resolution.workspace)
                if resolution.waits(print_):
                    untrusted[name] = entry
                    continue
                entry = replace(entry, seal=seal, fingerprint=print_)
            _check_variables(entry, resolution.environ)
        except _Wrong as wrong:
            omitted.append(
                CommandOmission(name=name, reason=wrong.reason, hint=wrong.hint, origin=origin)
            )
            message = f"the command tool `{name}` is left out: {wrong.reason}"
            resolution.problems.append(
                layer.problem((_SECTION, name), message, wrong.hint, "warning")
            )
        else:
            _warn_of_arguments(entry, layer, resolution.problems)
            usable[name] = entry
    if not (usable or untrusted or omitted):
        return None
    return CommandTools(usable=usable, untrusted=untrusted, omitted=tuple(omitted))


def _confined(
    merged: MergedLayers, name: str, fields: dict[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """A command tool without the word that would take it out of its sandbox.

    Only the user's own files may say that, whatever else of a workspace is trusted.
    """
    at = (_SECTION, name, "sandbox_profile")
    layer = merged.layer_of(at)
    if fields.get(at[-1]) != "none" or layer is None or layer.scope is not Scope.WORKSPACE:
        return fields
    message = f"`sandbox_profile` is ignored in a workspace: `{name}` runs in the sandbox"
    hint = "write `none` in the `config.toml` of your home, with the whole tool"
    problems.append(layer.problem(at, message, hint, "warning"))
    return {key: value for key, value in fields.items() if key != at[-1]}


def _entry(
    resolution: Resolution, name: str, fields: Mapping[str, Any], layer: Layer
) -> CommandEntry:
    is_theirs = layer.scope is Scope.WORKSPACE
    _check_env(fields, repository=is_theirs)
    _check_egress(name, fields)
    required = resolution.merged.layer_of((_SECTION, name, "requires_approval"))
    chosen = SECTION.read(fields)
    if "egress" in fields:
        chosen["egress"] = egress_from(fields["egress"])
    if "input_schema" in fields:
        chosen["input_schema"] = _schema(fields["input_schema"])
    entry = CommandEntry(
        name=name,
        required_by=required.scope if required and "requires_approval" in fields else Scope.DEFAULT,
        origin=layer.origin((_SECTION, name)),
        sandbox_fallback=resolution.merged.tree.get("sandbox_fallback", "none"),
        **chosen,
    )
    workspace = resolution.workspace
    cwd = os.path.join(workspace, _expanded_or_not(entry.cwd, resolution.environ))
    binding = resolution.record is not None
    words = (entry.command, *entry.args)
    stated = bound_values(SECTION, fields)
    seal = seal_of(
        *("command", name, stated, workspace),
        words=words,
        cwd=cwd,
        env=entry.env,
        binding=binding,
        is_shut=shuts_bytecode(words),
    )
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


def _check_egress(name: str, fields: Mapping[str, Any]) -> None:
    def say(at: KeyPath, message: str, hint: str, severity: Severity) -> None:
        del at, severity
        raise _Wrong(message, hint)

    judge_egress(name, fields, say)
    for each in egress_from(fields.get("egress") or ()):
        if each.inject.startswith("vault:"):
            raise _Wrong(
                "what is put on for a command tool comes from a variable",
                f'write `inject = "env:{each.variable}"`',
            )


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


SECTION = Section(
    name=_SECTION,
    noun="a command tool",
    about="Programs as tools, by name. Each runs once a call; arguments: `{name}`, and stdin.",
    is_named=True,
    into=CommandEntry,
    required=("command",),
    notes={"default_timeout_ms": "write `timeout_ms`", "allows_streaming": "write `streaming`"},
    # What is not trusted yet must not be filled with values of the environment.
    fills_late=True,
    admit=_undoubled,
    fields=tuple(
        # Whatever a workspace says of hosts is dropped: see `without_foreign_egress`.
        Field(name, kind, bound="value", workspace="never" if name in _HOSTS else "sets")
        for name, kind in {
            "command": Text(empty=False, about="The program. There is no shell."),
            "args": Items(
                item=Text(),
                about="`{name}` is an argument; an item without its argument is left out.",
            ),
            "cwd": Text(empty=False, about="Where it runs, from the workspace; there by default."),
            "env": Members(value=Text(), key=_NAME, about="Variables of the program."),
            "sandbox_profile": Text(
                choices=("default", "seatbelt", "none"), about="`none` counts in your home only."
            ),
            "allow_network": Truth(about="Off by default, and a high risk."),
            **{
                name: SERVER_OBJECT.fields[name]
                for name in ("read_roots", "writable_roots", "read_env_files", "limits")
            },
            **{name: SERVER_OBJECT.fields[name] for name in _HOSTS},
            "requires_approval": Truth(about="`false` counts in your home only, for a low risk."),
            "timeout_ms": Whole(minimum=1, about="How long a call may take; 120,000 by default."),
            "streaming": Truth(about="Pass on what it prints while it runs."),
            "description": Text(about="What the model reads."),
            "display_name": Text(empty=False, about="What people read."),
            "input_schema": Members(value=Anything(), about="JSON Schema of the arguments."),
            "side_effects": Items(
                item=Text(choices=("filesystem-read", "filesystem-write", "network")),
                about="What it does to the world. Nothing but reading needs no approval.",
            ),
            "allow_cwd_override": Truth(about="Let a session choose where it runs."),
            "allow_env_overrides": Items(item=_NAME, about="The variables that a session may set."),
        }.items()
    ),
)
