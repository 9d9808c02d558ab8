"""The section `[agents]`: what it may hold, and who may say it."""

import os
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from switchboard.config.keys import Field, Section
from switchboard.config.layers import Layer, MergedLayers
from switchboard.config.problems import Problem
from switchboard.config.strict import Items, Members, Table, Text, Truth, Whole
from switchboard.core.origins import Scope
from switchboard.providers.agents.options import AcpProgram, AgentOptions

_WORD = Text(empty=False)
ENGINE = Text(pattern="codex|claude|acp:[A-Za-z0-9_.-]+", says="`codex`, `claude` or `acp:NAME`")
ON_CRASH = Text(choices=("fail", "resume", "retry"))
_ACP = Table(
    noun="an ACP engine",
    fields={"command": _WORD, "args": Items(item=Text()), "env": Members(value=Text())},
    required=("command",),
)


def _key(name: str, kind: Any, variable: str | None = None) -> Field:
    """A key that only the user decides: everything here decides what runs, or under which name."""
    variables = (f"AGENTS_{name.upper()}" if variable is None else variable,)
    return Field(name, kind, workspace="never", variables=tuple(filter(None, variables)))


def _folders_inside(
    merged: MergedLayers, layer: Layer, fields: dict[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """The folders that a workspace names are folders of the workspace."""
    del merged
    if layer.scope is not Scope.WORKSPACE:
        return fields
    kept = dict(fields)
    for key in ("codex_dirs", "anthropic_dirs", "vscode_dirs"):
        for index, each in enumerate(cast("list[str]", fields.get(key, []))):
            if each.startswith(("~", os.sep)) or os.path.normpath(each).split(os.sep)[0] == "..":
                kept[key] = [word for word in kept[key] if word != each]
                message = f"`{each}` is ignored in a workspace: it leads outside of it"
                hint = "set it in the `config.toml` of your home"
                problems.append(layer.problem(("agents", key, index), message, hint, "warning"))
    return kept


# fmt: off
SECTION = Section(
    name="agents",
    about="Agent files as tools, the engines that run them, and their runs.",
    into=AgentOptions,
    admit=_folders_inside,
    fields=(
        _key("enable_codex", Truth(about="Look for `*.toml` agents and folders with `AGENT.md`.")),
        _key("enable_anthropic", Truth(about="Look for agents of Claude Code.")),
        _key("enable_vscode", Truth(about="Look for chat modes and custom agents of VS Code.")),
        *(
            Field(f"{kind}_dirs", Items(item=_WORD, about=(
                f"Further folders of {files}. The variable names all of them.")),
                variables=(variable,))
            # A workspace may name folders of its own: what lies there waits for trust.
            for kind, variable, files in (
                ("codex", "AGENTS_DIRS", "`*.toml` agents"),
                ("anthropic", "ANTHROPIC_AGENTS_DIRS", "agents of Claude Code"),
                ("vscode", "VSCODE_CHATMODES_DIRS", "chat modes"),
            )
        ),
        _key("prefix_codex", Text(about="What the names of `*.toml` agents' tools begin with.")),
        _key("prefix_anthropic", Text(about="The same for agents of Claude Code.")),
        _key("prefix_vscode", Text(about="The same for chat modes.")),
        _key("filter", Text(about="Show only agents with one of these names, safe names or tags.")),
        _key("mcp_discovery", Truth(about=(
            "Find servers for agents in the files of Claude, VS Code and Cursor."))),
        _key("vscode_user_mcp", Text(about="The `mcp.json` of your VS Code profile."),
            "VSCODE_USER_MCP"),
        _key("limit_mcp_to_referenced", Truth(about=(
            "Attach only servers whose tools the agent names.")), "AGENTS_MCP_LIMIT_REFERENCED"),
        _key("enumerate", Truth(about=(
            "At the first use of an agent, ask servers which of them have the tools it names.")),
            "AGENTS_MCP_ENUMERATE"),
        _key("enum_timeout_ms", Whole(minimum=1, about=(
            "How long one server may take for each step of that.")), "AGENTS_MCP_ENUM_TIMEOUT_MS"),
        _key("enum_max_servers", Whole(about="The most servers that are asked."),
            "AGENTS_MCP_MAX_SERVERS"),
        _key("enum_strict", Truth(about=(
            "Leave out a server that cannot be asked, also where the agent names it.")),
            "AGENTS_MCP_ENUM_STRICT"),
        _key("enum_fallback", Text(choices=("none", "all"), about=(
            "What is attached where several servers have a tool.")), "AGENTS_MCP_ENUM_FALLBACK"),
        _key("enum_fallback_all", Truth(about='`true` is the same as `enum_fallback = "all"`.'),
            ""),
        _key("skip_self", Truth(about="Never attach Switchboard to an agent as a found server."),
            "SWITCHBOARD_SKIP_SELF"),
        _key("toolmap_enable", Truth(about="Understand the names that vendors give to tools.")),
        _key("toolmap_allow_custom_servers", Truth(about=(
            "Attach the servers that a tool's name stands for, such as `memory`."))),
        _key("model_map_enable", Truth(about="Understand the names that vendors give to models.")),
        _key("model_map_file", Text(about=(
            "The map of models; `.agents/model-map.toml` of the workspace by default."))),
        _key("model_map_strict", Truth(about="Warn of a model that the map does not know.")),
        _key("model_map_override_provider", Truth(about=(
            "Let the map replace a provider that an agent names."))),
        _key("model_map_normalize_provider", Truth(about=(
            "Understand other names of providers: `Claude` is `anthropic`."))),
        _key("engine", Text(pattern=ENGINE.pattern, says=ENGINE.says, about=(
            "The engine of agents that name none: `codex`, `claude` or `acp:NAME`. By the model"
            " where this is not set.")), ""),
        _key("programs", Members(value=_WORD, about=(
            "The program of an engine, by its name, where `PATH` does not lead to it.")), ""),
        _key("acp", Members(value=_ACP, about=(
            "Engines that speak ACP, by name: `command`, `args`, `env`.")), ""),
        _key("codex_tools", Truth(about="Show the tools `codex` and `codex-reply`.")),
        _key("patience", Members(value=Whole(minimum=1), about=(
            "Seconds that a client is kept waiting for a run, by its name; `default` for the"
            " others.")), ""),
        _key("run_minutes", Whole(minimum=1, maximum=10_080, about=(
            "How long a run may work. Waiting does not count.")), ""),
        _key("approval_timeout", Whole(minimum=1, maximum=604_800, about=(
            "Seconds that a question of an agent waits for an answer. Silence is no.")), ""),
        _key("on_crash", Text(choices=ON_CRASH.choices, about=(
            "What becomes of a run whose process was killed with the daemon.")), ""),
        _key("on_disconnect", Text(choices=("auto", "keep", "cancel"), about=(
            "What becomes of a run whose client leaves: `auto` ends it unless the client was told"
            " its id.")), ""),
        _key("pass_env", Items(item=_WORD, about=(
            "Further variables that engines may see, such as the key of a model provider.")), ""),
        _key("stay_in_workspace", Truth(about=(
            "Let agents work in the workspace and its worktrees only; so it is where"
            " `--workspace` or `WORKSPACE_DIR` names the workspace.")), ""),
    ),
)
# fmt: on


def options_from(values: Mapping[str, Any]) -> AgentOptions:
    """The checked values of the section as one value."""
    fields = SECTION.read(values)
    fields["acp"] = {
        name: msgspec.convert(each, AcpProgram) for name, each in values.get("acp", {}).items()
    }
    if values.get("enum_fallback_all") and "enum_fallback" not in values:
        fields["enum_fallback"] = "all"
    return AgentOptions(**fields)
