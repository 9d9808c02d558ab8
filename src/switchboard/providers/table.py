"""Every provider in one line: where its plug is, and what is known of it before it is loaded.

A provider is loaded when its section of `config.toml`, its file in the workspace, or one of the
files that it is made for is there; one that has none of these is always loaded. To add a provider,
write its folder with a `source.py` and add a line here. No other file names a provider.
"""

from __future__ import annotations

import contextlib
import os
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.core.catalog.names import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from switchboard.config.locate import Places
    from switchboard.providers.source import AnySource
    from switchboard.settings.sections import Settings


class Row(Struct, frozen=True, kw_only=True):
    """One provider."""

    # The module whose `SOURCE` is the plug.
    module: str
    # Keys of which one calls for it, if what stands there does.
    settings: tuple[str, ...] = ()
    # The section of `config.toml` and the file of a workspace that call for it.
    section: str = ""
    file: str = ""
    # Folders and how the files in them end that call for it; `/NAME` is a file in a folder of them.
    # A folder is one of the workspace, or begins with `~/`, `$HOME/` (ours) or `$AGH/`.
    finds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # The variables that set keys of its section.
    variables: tuple[str, ...] = ()
    # Names of tools that no other provider may use. `x_*` means all that begin with `x_`.
    reserved: tuple[str, ...] = ()
    # Its tools only lead models to what the others have.
    only_leads: bool = False
    # Variables that hold a path, which may be relative to the folder of the client.
    path_variables: tuple[str, ...] = ()


# In the order in which their tools are listed.
TABLE: dict[str, Row] = {
    "suites": Row(module="switchboard.providers.suites.source"),
    "direct": Row(module="switchboard.providers.direct.source"),
    "commands": Row(module="switchboard.providers.commands.source", section="mcp"),
    "yard": Row(
        module="switchboard.providers.yard.source",
        section="yard",
        file="switchyard.toml",
        reserved=("switchyard_*",),
        path_variables=("SWITCHYARD_HOME",),
    ),
    "agents": Row(
        module="switchboard.providers.agents.source",
        section="agents",
        finds=(
            (".agents", (".toml", "/AGENT.md")),
            (".agh/agents", ("/AGENT.md",)),
            (".claude/agents", (".md",)),
            (".github/agents", (".agent.md",)),
            (".github/chatmodes", (".chatmode.md",)),
            ("$HOME/agents", (".toml", ".agent.md", "/AGENT.md")),
            ("$HOME/chatmodes", (".chatmode.md",)),
            ("$AGH/agents", ("/AGENT.md",)),
            ("~/.agents", (".toml", "/AGENT.md")),
            ("~/.claude/agents", (".md",)),
            ("~/.chatmodes", (".chatmode.md",)),
        ),
        variables=(
            *("AGENTS_ENABLE_CODEX", "AGENTS_ENABLE_ANTHROPIC", "AGENTS_ENABLE_VSCODE"),
            *("AGENTS_DIRS", "ANTHROPIC_AGENTS_DIRS", "VSCODE_CHATMODES_DIRS"),
            *("AGENTS_PREFIX_CODEX", "AGENTS_PREFIX_ANTHROPIC", "AGENTS_PREFIX_VSCODE"),
            *("AGENTS_CODEX_TOOLS", "AGENTS_FILTER", "AGENTS_MCP_DISCOVERY", "VSCODE_USER_MCP"),
            *("AGENTS_MCP_LIMIT_REFERENCED", "AGENTS_MCP_ENUMERATE", "AGENTS_MCP_ENUM_TIMEOUT_MS"),
            *("AGENTS_MCP_MAX_SERVERS", "AGENTS_MCP_ENUM_STRICT", "AGENTS_MCP_ENUM_FALLBACK"),
            *("SWITCHBOARD_SKIP_SELF", "AGENTS_TOOLMAP_ENABLE"),
            *("AGENTS_TOOLMAP_ALLOW_CUSTOM_SERVERS", "AGENTS_MODEL_MAP_ENABLE"),
            *("AGENTS_MODEL_MAP_FILE", "AGENTS_MODEL_MAP_STRICT"),
            *("AGENTS_MODEL_MAP_OVERRIDE_PROVIDER", "AGENTS_MODEL_MAP_NORMALIZE_PROVIDER"),
        ),
        reserved=(
            *("codex", "codex-reply", "run_wait", "run_status", "run_output", "run_cancel"),
            *("run_steer", "run_reply"),
        ),
    ),
    "find": Row(
        module="switchboard.providers.find.source",
        settings=("surface_tokens",),
        reserved=("find_tool", "call_tool", "call_read_only_tool"),
        only_leads=True,
    ),
    "recall": Row(
        module="switchboard.providers.recall.source",
        settings=("results", "suites"),
        reserved=("read_result",),
        only_leads=True,
    ),
}

# Folders in one folder that are watched at most.
_MOST_FOLDERS = 200
# Names of Switchboard itself.
_OWN_NAMES = ("switchboard_*",)


def source_of(key: str) -> AnySource:
    """The plug of a provider, loaded by whoever first needs it."""
    return import_module(TABLE[key].module).SOURCE


def configured(settings: Settings) -> Iterator[AnySource]:
    """The plugs of the providers that these settings call for."""
    for key, row in TABLE.items():
        if key in settings.sources or not (row.section or row.file or row.settings):
            yield source_of(key)


def folders_of(row: Row, places: Places) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Where the files lie that call for a provider, and how their names end."""
    roots = {"~": places.user_home, "$HOME": places.home, "$AGH": places.agh_home}
    for folder, endings in row.finds:
        first, _, rest = folder.partition("/")
        root = roots.get(first)
        yield os.path.join(places.workspace, folder) if root is None else f"{root}/{rest}", endings


def watched_for(row: Row, places: Places) -> Iterator[str]:
    """Folders whose change may call for a provider: a file may come to those in them, too."""
    for folder, endings in folders_of(row, places):
        yield folder
        if any(ending.startswith("/") for ending in endings):
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                inner = [entry.path for entry in entries if entry.is_dir()]
                yield from sorted(inner)[:_MOST_FOLDERS]


def is_called_for(row: Row, places: Places) -> bool:
    """Whether a file of the workspace or of its user calls for a provider. Reads none of them."""
    if row.file and os.path.lexists(os.path.join(places.workspace, row.file)):
        return True
    return any(_holds(folder, endings) for folder, endings in folders_of(row, places))


def _holds(folder: str, endings: tuple[str, ...]) -> bool:
    """Whether a folder has a file with one of the endings."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    inner = tuple(ending for ending in endings if ending.startswith("/"))
    return any(
        name.endswith(endings) or any(os.path.exists(folder + "/" + name + end) for end in inner)
        for name in names
    )


def only_leads(provider: str) -> bool:
    """Whether the tools of a provider only lead models to those of others, which people have."""
    return TABLE[provider].only_leads


def is_reserved(name: str, provider: str = "") -> bool:
    """Whether a tool of this provider may not have the name."""
    folded = fold(name)
    if _matches(folded, _OWN_NAMES):
        return True
    return any(_matches(folded, row.reserved) for key, row in TABLE.items() if key != provider)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
        for pattern in patterns
    )
