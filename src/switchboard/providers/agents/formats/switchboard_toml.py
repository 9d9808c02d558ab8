"""Agents of Switchboard itself: `*.toml`, and folders with an `AGENT.md`."""

import os
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from switchboard.config.problems import Problem
from switchboard.config.strict import ProblemReport, Table, Text, Truth
from switchboard.engines.profile import (
    ApprovalPolicy,
    ReasoningSummary,
    RunFields,
    SandboxMode,
    Verbosity,
)
from switchboard.providers.agents.files.agent_file import AgentFile
from switchboard.providers.agents.formats.fields import OWN, AgentDocument, on_blanks
from switchboard.providers.agents.formats.parts import Parts
from switchboard.providers.agents.formats.servers import declared_servers

# What engines take today, from the least on.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")
_WORD = Text(empty=False)
RUN = Table(
    noun="`[run]`",
    fields={
        "model": _WORD,
        "model_provider": _WORD,
        "approval_policy": Text(choices=get_args(ApprovalPolicy)),
        "disable_response_storage": Truth(),
        "model_reasoning_effort": Text(choices=EFFORTS),
        "model_reasoning_summary": Text(choices=get_args(ReasoningSummary)),
        "model_verbosity": Text(choices=get_args(Verbosity)),
        "chatgpt_base_url": _WORD,
        "sandbox_mode": Text(choices=get_args(SandboxMode)),
        "include_plan_tool": Truth(),
        "include_apply_patch_tool": Truth(),
        "include_view_image_tool": Truth(),
        "tools_web_search_request": Truth(),
    },
)
_KNOWN = {
    *("name", "description", "tags", "instructions_file", "instructions", "tools", "run"),
    *("mcp_servers", "mcpServers", "metadata", *OWN),
}
# Beside a `*.toml`, where it names no instructions itself.
_PROMPT = ".prompt.md"


def read_toml_agent(
    path: str, workspace: str, parts: Parts, problems: list[Problem]
) -> AgentFile | None:
    """A `*.toml` agent; nothing where it cannot be used, which `problems` say."""
    document = parts.toml(path, problems)
    if document is None:
        return None
    read = AgentDocument(document, problems)
    name = read.name()
    if name is None and document.tree.get("name") is None:
        read.say((), "`name` is required", 'begin with `name = "…"`')
    return _agent(read, name, _instructions(read, path, workspace, parts), path, parts)


def read_directory_agent(
    path: str, workspace: str, parts: Parts, problems: list[Problem]
) -> AgentFile | None:
    """The agent of a folder: `AGENT.md` takes the same keys, and its body is the instructions."""
    found = parts.front_matter(path, problems)
    if found is None:
        return None
    document, body = found
    read = AgentDocument(document, problems)
    folder = os.path.dirname(path)
    name = read.name() if document.tree.get("name") is not None else os.path.basename(folder)
    text = body.strip() or _instructions(read, path, workspace, parts)
    return _agent(read, name, text, folder, parts)


def _agent(
    read: AgentDocument, name: str | None, instructions: str, agent: str, parts: Parts
) -> AgentFile | None:
    fields: dict[str, Any] = {
        "description": read.text("description"),
        "tags": read.words("tags", on_blanks),
        "tools": read.words("tools", on_blanks),
        "run": run_fields(read),
        "servers": declared_servers(read.document, agent, parts, read.problems),
        **read.own(),
    }
    read.unknown(_KNOWN)
    if name is None or any(each.severity == "error" for each in read.problems):
        return None
    return AgentFile(
        format="codex",
        path=read.document.path,
        name=name,
        instructions=instructions,
        **read.place(),
        **fields,
    )


def run_fields(read: AgentDocument) -> RunFields:
    """The `[run]` table, whole or not at all: an agent never runs with half of its limits."""
    written = read.tree.get("run")
    if written is None:
        return RunFields()
    found: list[Problem] = []
    fine = RUN.check(written, ("run",), ProblemReport(read.document, found))
    read.problems += [replace(problem, near=False) for problem in found]
    return msgspec.convert(written, RunFields) if fine else RunFields()


def _instructions(read: AgentDocument, path: str, workspace: str, parts: Parts) -> str:
    """From the file that is named, else inline, else from the file beside it."""
    inline = (read.text("instructions") or "").strip()
    named = read.text("instructions_file")
    if named is None:
        if inline or "instructions" in read.tree or not path.endswith(".toml"):
            return inline
        return (parts.text(path.removesuffix(".toml") + _PROMPT, read.problems) or "").strip()
    found = ""
    refused: list[Problem] = []
    # In the words of the workspace first, then of the agent's own folder. An agent of the user
    # takes a stranger's words only where it has none of its own, and then waits for trust.
    folders = (workspace, os.path.dirname(path))
    for folder in folders if parts.within else reversed(folders):
        within = workspace if folder == workspace and not os.path.isabs(named) else parts.within
        found = (parts.text(os.path.join(folder, named), refused, within) or "").strip()
        if found or refused:
            break
    if not found:
        why = refused[0].message if refused else "it is missing or empty"
        instead = "`instructions` is used instead" if inline else "there are no instructions"
        message = f"`instructions_file` cannot be used: {why}; {instead}"
        read.say(("instructions_file",), message, severity="warning")
    return found or inline
