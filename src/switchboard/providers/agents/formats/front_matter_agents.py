"""Agents of Claude Code and of VS Code: front matter, and a body that is the instructions."""

import os
from typing import Any, cast

from msgspec import Struct

from switchboard.config.problems import Problem
from switchboard.engines.profile import RunFields
from switchboard.providers.agents.agent import AgentFormat
from switchboard.providers.agents.files.agent_file import AgentFile
from switchboard.providers.agents.formats.fields import (
    OWN,
    AgentDocument,
    Split,
    on_blanks,
    on_commas,
)
from switchboard.providers.agents.formats.parts import Parts
from switchboard.providers.agents.formats.servers import (
    declared_servers,
    named_servers,
    translated,
    with_servers,
)

_SHARED = {
    *("name", "description", "tools", "tags", "model", "provider", "modelProvider"),
    *("mcpServers", "mcp_servers", "mcp-servers", "metadata", *OWN),
}
# The mode of Claude Code in which nothing is changed. Its others loosen what is asked, and an agent
# file of another program does not decide that here.
_READING_MODE = "plan"
# The model of whoever calls, which nobody knows here.
_NO_MODEL = ("inherit",)


class Dialect(Struct, frozen=True, kw_only=True):
    """How one vendor writes agent files."""

    format: AgentFormat
    split_tags: Split
    endings: tuple[str, ...]
    required: str
    # Keys that the vendor has and that mean nothing to an engine here.
    unused: frozenset[str]
    # The key that names tools which the agent must not have, if there is one.
    refuses: str = ""


CLAUDE = Dialect(
    format="anthropic",
    split_tags=on_commas,
    endings=(".agent.md", ".md"),
    required="name",
    unused=frozenset(
        {
            *("permissionMode", "maxTurns", "skills", "hooks", "memory"),
            *("background", "effort", "isolation", "color", "initialPrompt"),
        }
    ),
    refuses="disallowedTools",
)
CHAT_MODE = Dialect(
    format="vscode",
    split_tags=on_blanks,
    endings=(".chatmode.md", ".agent.md"),
    required="description",
    unused=frozenset(
        {
            *("agents", "handoffs", "user-invocable", "user-invokable", "argument-hint"),
            *("disable-model-invocation", "target", "infer", "mode"),
        }
    ),
)
# The name that VS Code uses today, which asks for nothing.
CUSTOM_AGENT = Dialect(
    format="vscode",
    split_tags=on_blanks,
    endings=CHAT_MODE.endings,
    required="",
    unused=CHAT_MODE.unused,
)


def read_front_matter_agent(
    path: str, dialect: Dialect, parts: Parts, problems: list[Problem]
) -> AgentFile | None:
    """An agent of another vendor; nothing where it cannot be used, which `problems` say."""
    found = parts.front_matter(path, problems)
    if found is None:
        return None
    document, body = found
    read = AgentDocument(document, problems)
    if dialect.required and document.tree.get(dialect.required) is None:
        read.say((), f"`{dialect.required}` is required", f"add `{dialect.required}: …`")
    name = read.name() if document.tree.get("name") is not None else _stem(path, dialect)
    models = _models(read)
    tools = read.words("tools", on_blanks)
    inline, references, spelled = _servers(read)
    is_reading = dialect is CLAUDE and document.tree.get("permissionMode") == _READING_MODE
    fields: dict[str, Any] = {
        "description": read.text("description"),
        "tags": read.words("tags", dialect.split_tags),
        "tools": (*tools, *(f"{each}::*" for each in references)),
        "run": RunFields(
            model=models[0] if models else None,
            model_provider=_filled(read.text("provider", "modelProvider")),
            sandbox_mode="read-only" if is_reading else None,
        ),
        "refused_tools": read.words(dialect.refuses, on_blanks) if dialect.refuses else (),
        "models": models[1:],
        "servers": declared_servers(with_servers(document, inline, spelled), path, parts, problems),
        **read.own(),
    }
    read.unknown({*_SHARED, *dialect.unused, *([dialect.refuses] if dialect.refuses else [])})
    kept = {"permissionMode"} if is_reading else set[str]()
    if name is None or any(each.severity == "error" for each in problems):
        return None
    return AgentFile(
        format=dialect.format,
        path=path,
        name=name,
        instructions=body.strip(),
        unused=tuple(key for key in document.tree if key in dialect.unused - kept),
        **read.place(),
        **fields,
    )


def _stem(path: str, dialect: Dialect) -> str:
    name = os.path.basename(path)
    for ending in dialect.endings:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name


def _models(read: AgentDocument) -> tuple[str, ...]:
    """The models that the file names, the one it prefers first."""
    written = read.tree.get("model")
    found = read.words("model", lambda text: [text.strip()] if text.strip() else [])
    return tuple(each for each in found if each not in _NO_MODEL) if written is not None else ()


def _servers(read: AgentDocument) -> tuple[dict[str, Any], tuple[str, ...], str]:
    """Inline servers, names of servers, and the key under which they are written."""
    inline: dict[str, Any] = {}
    names: tuple[str, ...] = ()
    spelled = ""
    for key in ("mcpServers", "mcp_servers", "mcp-servers"):
        written = read.tree.get(key)
        if written is None:
            continue
        spelled = key
        if not isinstance(written, str | list | dict):
            read.say((key,), f"`{key}` must be a list or an object")
            continue
        if isinstance(written, dict):
            table = cast("dict[str, Any]", written)
            inline |= {
                name: translated(cast("dict[str, Any]", each)) if isinstance(each, dict) else each
                for name, each in table.items()
            }
            continue
        more, found = named_servers(cast("Any", written))
        inline |= more
        names += found
    return inline, names, spelled


def _filled(text: str | None) -> str | None:
    return text.strip() or None if text is not None else None
