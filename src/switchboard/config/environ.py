"""Settings from environment variables and command-line flags, typed.

This is the one module that reads the environment of the process; everybody else is handed it.
"""

import os
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from switchboard.config.layers import Layer
from switchboard.config.problems import Problem, quoted
from switchboard.config.spots import KeyPath
from switchboard.core.origins import Scope
from switchkit.suggest import did_you_mean

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_MAX_PORT = 65_535
_MAX_INT = 2_147_483_647

Kind = Literal["text", "truth", "whole", "port", "words", "choice"]


class Variable(Struct, frozen=True, kw_only=True):
    """One environment variable: the key that it sets and how its text is read."""

    name: str
    key: KeyPath
    kind: Kind = "text"
    choices: tuple[str, ...] = ()


def _agent(name: str, key: str, kind: Kind = "truth", choices: tuple[str, ...] = ()) -> Variable:
    return Variable(name=name, key=("agents", key), kind=kind, choices=choices)


# Of two variables for one key, the later one in this list wins.
VARIABLES = (
    Variable(
        name="TRANSPORT", key=("server", "transport"), kind="choice", choices=("stdio", "http")
    ),
    Variable(name="HOST", key=("server", "host")),
    Variable(name="PORT", key=("server", "port"), kind="port"),
    Variable(name="SWITCHBOARD_ALLOW_REMOTE", key=("server", "allow_remote"), kind="truth"),
    Variable(name="TRACING_PRETTY", key=("logging", "pretty"), kind="truth"),
    Variable(name="TRACING_COMPACT", key=("logging", "compact"), kind="truth"),
    Variable(name="TRACING_JSON", key=("logging", "json"), kind="truth"),
    Variable(name="RUST_LOG", key=("logging", "filter")),
    Variable(name="TRACING_FILTER", key=("logging", "filter")),
    Variable(name="LOG_TO_FILE", key=("logging", "to_file"), kind="truth"),
    Variable(name="LOG_DIR", key=("logging", "dir")),
    Variable(name="enable_mcp_server_surface", key=("enable_mcp_server_surface",), kind="truth"),
    Variable(name="ENABLE_MCP_SERVER_SURFACE", key=("enable_mcp_server_surface",), kind="truth"),
    _agent("AGENTS_ENABLE_CODEX", "enable_codex"),
    _agent("AGENTS_ENABLE_ANTHROPIC", "enable_anthropic"),
    _agent("AGENTS_ENABLE_VSCODE", "enable_vscode"),
    _agent("AGENTS_DIRS", "codex_dirs", "words"),
    _agent("ANTHROPIC_AGENTS_DIRS", "anthropic_dirs", "words"),
    _agent("VSCODE_CHATMODES_DIRS", "vscode_dirs", "words"),
    _agent("AGENTS_PREFIX_CODEX", "prefix_codex", "text"),
    _agent("AGENTS_PREFIX_ANTHROPIC", "prefix_anthropic", "text"),
    _agent("AGENTS_PREFIX_VSCODE", "prefix_vscode", "text"),
    _agent("AGENTS_FILTER", "filter", "text"),
    _agent("AGENTS_MCP_DISCOVERY", "mcp_discovery"),
    _agent("VSCODE_USER_MCP", "vscode_user_mcp", "text"),
    _agent("AGENTS_MCP_LIMIT_REFERENCED", "limit_mcp_to_referenced"),
    _agent("AGENTS_MCP_ENUMERATE", "enumerate"),
    _agent("AGENTS_MCP_ENUM_TIMEOUT_MS", "enum_timeout_ms", "whole"),
    _agent("AGENTS_MCP_MAX_SERVERS", "enum_max_servers", "whole"),
    _agent("AGENTS_MCP_ENUM_STRICT", "enum_strict"),
    _agent("AGENTS_MCP_ENUM_FALLBACK", "enum_fallback", "choice", ("none", "all")),
    _agent("AGENTS_TOOLMAP_ENABLE", "toolmap_enable"),
    _agent("AGENTS_TOOLMAP_ALLOW_CUSTOM_SERVERS", "toolmap_allow_custom_servers"),
    _agent("AGENTS_MODEL_MAP_ENABLE", "model_map_enable"),
    _agent("AGENTS_MODEL_MAP_FILE", "model_map_file", "text"),
    _agent("AGENTS_MODEL_MAP_STRICT", "model_map_strict"),
    _agent("AGENTS_MODEL_MAP_OVERRIDE_PROVIDER", "model_map_override_provider"),
    _agent("AGENTS_MODEL_MAP_NORMALIZE_PROVIDER", "model_map_normalize_provider"),
    _agent("SWITCHBOARD_SKIP_SELF", "skip_self"),
    Variable(name="SWITCHBOARD_DAEMON_IDLE_MS", key=("daemon", "idle_ms"), kind="whole"),
    Variable(name="SWITCHBOARD_TRUST_WORKSPACE", key=("trust_workspace",), kind="truth"),
)

FLAGS: dict[str, Variable] = {
    flag.name: flag
    for flag in (
        Variable(
            name="transport", key=("server", "transport"), kind="choice", choices=("stdio", "http")
        ),
        Variable(name="host", key=("server", "host")),
        Variable(name="port", key=("server", "port"), kind="port"),
        Variable(name="allow_remote", key=("server", "allow_remote"), kind="truth"),
        Variable(
            name="introspection_mode",
            key=("introspection", "mode"),
            kind="choice",
            choices=("summary", "full"),
        ),
        Variable(name="trust_workspace", key=("trust_workspace",), kind="truth"),
    )
}


def process_environ() -> dict[str, str]:
    """A copy of the environment of this process."""
    return dict(os.environ)


def environment_layer(environ: Mapping[str, str], problems: list[Problem]) -> Layer:
    """What the environment sets. An empty variable counts as unset."""
    tree: dict[str, Any] = {}
    written: dict[KeyPath, KeyPath] = {}
    for variable in VARIABLES:
        text = environ.get(variable.name)
        if not text or not text.strip():
            continue
        _set(tree, written, variable, text, scope=Scope.ENVIRONMENT, problems=problems)
    return Layer(scope=Scope.ENVIRONMENT, tree=tree, written=written)


def flags_layer(flags: Mapping[str, Any], problems: list[Problem]) -> Layer:
    """What the command line sets. A flag of `None` was not given."""
    tree: dict[str, Any] = {}
    written: dict[KeyPath, KeyPath] = {}
    for name, value in flags.items():
        if value is None:
            continue
        flag = FLAGS.get(name)
        if flag is None:
            meant = did_you_mean(name, FLAGS)
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
    value, wanted = _typed(variable, text.strip())
    if wanted:
        meant = did_you_mean(text.strip(), variable.choices)
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


def _typed(variable: Variable, text: str) -> tuple[Any, str]:  # noqa: PLR0911 - one return a kind
    """The value and nothing, or nothing and what was wanted."""
    match variable.kind:
        case "truth":
            word = text.casefold()
            return (word in _TRUE, "") if word in _TRUE | _FALSE else (None, "`1` or `0`")
        case "whole" | "port":
            most = _MAX_PORT if variable.kind == "port" else _MAX_INT
            fits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
            if fits and int(text) <= most:
                return int(text), ""
            return None, f"a whole number from 0 to {most}"
        case "words":
            return [word.strip() for word in text.split(",") if word.strip()], ""
        case "choice" if text.casefold() in variable.choices:
            return text.casefold(), ""
        case "choice":
            return None, " or ".join(f"`{choice}`" for choice in variable.choices)
        case "text":
            return text, ""
