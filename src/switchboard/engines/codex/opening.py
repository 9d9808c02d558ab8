"""How a conversation with Codex is opened: the arguments of `thread/start` and `thread/resume`."""

import os
import re
import stat
from collections.abc import Iterator
from typing import Any

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.codex.mapping import arguments_of, config_of
from switchboard.engines.profile import AgentProfile, AttachedServer, EngineSpec

Json = dict[str, Any]

# Codex itself reads no more than this.
_MOST_INSTRUCTIONS = 32 * 1024
_INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md")
# Settings that decide what runs or what it sees. Nobody but us may say them.
_OURS = ("projects", "shell_environment_policy", "notify", "hooks", "history", "sqlite_home")
# Tools of a server may need minutes, as runs of other agents do.
_TOOL_S = 3_600


def opening_of(spec: EngineSpec, user_home: str) -> Json:
    """The arguments. Reads instructions of the workspace from the disk; raises a fault."""
    profile = spec.profile
    arguments = {
        **arguments_of(profile.fields),
        "cwd": spec.cwd,
        "experimentalRawEvents": True,
        "config": _config(spec),
    }
    instructions = [profile.developer_instructions, *_written_for_models(spec, user_home)]
    given = "\n\n".join(filter(None, instructions))
    if given:
        arguments["developerInstructions"] = given
    if profile.base_instructions:
        arguments["baseInstructions"] = profile.base_instructions
    if spec.resume:
        del arguments["experimentalRawEvents"]
        arguments["threadId"] = spec.resume
    return arguments


def _config(spec: EngineSpec) -> Json:
    profile = spec.profile
    config: Json = {**_own(profile), **config_of(profile.fields)}
    if profile.compact_prompt:
        config["compact_prompt"] = profile.compact_prompt
    for name, entry in servers_of(profile).items():
        config[f"mcp_servers.{name}"] = entry
    # Codex calls a folder trusted by itself as soon as it may write there, and then runs what the
    # folder's own settings say. So it is told, for the folder and for every one above it.
    config["projects"] = {
        folder: {"trust_level": "trusted" if _is_trusted(folder, spec) else "untrusted"}
        for folder in _upwards(spec.cwd)
    }
    return config


def _is_trusted(folder: str, spec: EngineSpec) -> bool:
    root = spec.trusted_folder
    return bool(root) and (folder == root or folder.startswith(root.rstrip(os.sep) + os.sep))


def _own(profile: AgentProfile) -> Json:
    """Further settings of the agent, but for those that are ours."""
    for key in profile.config:
        if key.split(".", 1)[0] in _OURS:
            raise Fault(
                FaultCode.INVALID_ARGUMENT,
                "setting-not-allowed",
                f"`{key}` may not be set for a run",
                hint="leave it out; Switchboard decides it",
            )
    return dict(profile.config)


def provider_of(profile: AgentProfile) -> str:
    """The model provider that the agent names, if any."""
    return str(profile.fields.model_provider or profile.config.get("model_provider") or "")


def servers_of(profile: AgentProfile) -> dict[str, Json]:
    """The MCP servers of a profile by the names that Codex gives them. Raises a fault."""
    found: dict[str, Json] = {}
    for server in profile.servers:
        name = re.sub(r"[^A-Za-z0-9_]", "_", server.name)
        if name in found or not name:
            raise Fault(
                FaultCode.INVALID_ARGUMENT,
                "server-name-taken",
                f"Codex calls two servers of the agent `{name}`",
                hint="rename one of them",
            )
        found[name] = _server(server)
        if server.is_gated:
            found[name]["default_tools_approval_mode"] = "approve"
        elif profile.fields.approval_policy != "never":
            # What is not declared to only read has to be asked for. An agent that never asks is
            # left to Codex, which would otherwise refuse each of these calls.
            found[name]["default_tools_approval_mode"] = "writes"
    return found


def _server(server: AttachedServer) -> Json:
    entry: Json = {
        "command": server.command,
        "args": list(server.args),
        "required": server.required,
        "tool_timeout_sec": _TOOL_S,
    }
    if server.start_in:
        entry["cwd"] = server.start_in
    if server.env:
        entry["env"] = dict(server.env)
    return entry


def _written_for_models(spec: EngineSpec, user_home: str) -> Iterator[str]:
    """Each `AGENTS.md` that Codex does not read by itself. They run nothing.

    It has another home than the user's, and leaves out those of a folder that is not trusted.
    """
    folders = [user_home] if user_home else []
    if not spec.is_trusted:
        folders += reversed(_upwards(spec.cwd, until_root=True))
    left = _MOST_INSTRUCTIONS
    for folder in folders:
        text = _first(folder, left)
        if text.strip():
            yield f"# Instructions of {os.path.basename(folder) or folder}\n\n{text}"
            left -= len(text)


def _first(folder: str, most: int) -> str:
    for name in _INSTRUCTIONS:
        try:
            # A pipe in its place would hold up who opens it.
            handle = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(handle, encoding="utf-8", errors="replace") as file:
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    return file.read(most)
        except OSError:
            continue
    return ""


def _upwards(cwd: str, *, until_root: bool = False) -> list[str]:
    """The folder and those above it: all, or those up to the root of its repository."""
    folders = [cwd]
    while (above := os.path.dirname(folders[-1])) != folders[-1]:
        if until_root and os.path.exists(os.path.join(folders[-1], ".git")):
            return folders
        folders.append(above)
    # Outside a repository only the folder itself counts.
    return folders[:1] if until_root else folders
