"""The exact lines that make Switchboard known to a client."""

import json
import shlex
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

TOKEN_VARIABLE = "SWITCHBOARD_TOKEN"  # noqa: S105 - the name of a variable
_NAME = "switchboard"


# How long a host may wait for one call: people take their time to answer, and agents to work.
_LONGEST_S = 3_600
_LONGEST_MS = _LONGEST_S * 1000
_STARTING_S = 30


class ClientLines(Struct, frozen=True, kw_only=True):
    """What to type, or what to put into which file."""

    client: str
    # Empty when the text is a command for the shell.
    file: str = ""
    text: str
    # What lets the host work at its best, and why; in the same file where none is named.
    beside: str = ""
    beside_file: str = ""
    why: str = ""


def stdio_lines(
    program: str,
    options: tuple[str, ...] = (),
    *,
    # Whether our gate asks: then a host that asks as well only asks twice.
    is_guarded: bool = False,
    # The variables that the configuration refers to; some hosts pass on none that is not named.
    variables: Iterable[str] = (),
) -> tuple[ClientLines, ...]:
    """For clients that launch Switchboard themselves."""
    args = ["mcp", *options]
    # These may start a server anywhere, so they are told the workspace.
    placed = [*args, "--workspace", "${workspaceFolder}"]
    placed = args if "--workspace" in args else placed
    plain = {"command": program, "args": args}
    return (
        _claude_code(shlex.join([program, *args]), is_guarded=is_guarded),
        _codex(plain, is_guarded=is_guarded, variables=sorted(variables)),
        ClientLines(
            client="VS Code",
            file=".vscode/mcp.json",
            text=_json("servers", {"type": "stdio", "command": program, "args": placed}),
        ),
        ClientLines(
            client="Cursor",
            file=".cursor/mcp.json",
            text=_json("mcpServers", {"command": program, "args": placed}),
        ),
        _opencode([program, *args], is_guarded=is_guarded),
        ClientLines(
            client="Gemini CLI",
            file=".gemini/settings.json",
            text=_json("mcpServers", {**plain, "timeout": _LONGEST_MS}),
        ),
        ClientLines(
            client="Claude Desktop",
            file="claude_desktop_config.json",
            text=_json("mcpServers", plain),
            why="quit the app first: it writes this file itself",
        ),
        ClientLines(
            client="Windsurf",
            file="~/.codeium/windsurf/mcp_config.json",
            text=_json("mcpServers", plain),
            why="Devin Desktop reads ~/.config/devin/mcp_config.json instead",
        ),
        ClientLines(
            client="Zed",
            file="~/.config/zed/settings.json",
            text=_json("context_servers", {**plain, "timeout": _LONGEST_S}),
        ),
    )


def _claude_code(command: str, *, is_guarded: bool) -> ClientLines:
    rule = json.dumps({"permissions": {"allow": [f"mcp__{_NAME}"]}})
    return ClientLines(
        client="Claude Code",
        text=f"claude mcp add {_NAME} -- {command}",
        beside=rule if is_guarded else "",
        beside_file="~/.claude/settings.json" if is_guarded else "",
        why="Switchboard asks before what could do harm; without this Claude Code asks first"
        if is_guarded
        else "",
    )


def _codex(plain: dict[str, Any], *, is_guarded: bool, variables: list[str]) -> ClientLines:
    entry: dict[str, Any] = {
        **plain,
        "startup_timeout_sec": _STARTING_S,
        "tool_timeout_sec": _LONGEST_S,
        "supports_parallel_tool_calls": True,
    }
    if variables:
        # It passes on a dozen variables, and those that are named.
        entry["env_vars"] = variables
    if is_guarded:
        # `codex exec` refuses every call of a suite without it.
        entry["default_tools_approval_mode"] = "approve"
    return ClientLines(
        client="Codex",
        file="~/.codex/config.toml",
        text=_toml(entry),
        why="Switchboard asks before what could do harm, so Codex need not" if is_guarded else "",
    )


def _opencode(command: list[str], *, is_guarded: bool) -> ClientLines:
    entry: dict[str, Any] = {"type": "local", "command": command, "enabled": True}
    return ClientLines(
        client="opencode",
        file="opencode.json",
        text=_json("mcp", {**entry, "timeout": _LONGEST_MS}),
        beside=json.dumps({"permission": {f"{_NAME}_*": "allow"}}) if is_guarded else "",
        why="Switchboard asks before what could do harm, so opencode need not"
        if is_guarded
        else "",
    )


def http_lines(url: str) -> tuple[ClientLines, ...]:
    """For clients that connect to a running one; they read its token from a variable."""
    by_name = {"Authorization": "Bearer ${env:%s}" % TOKEN_VARIABLE}  # noqa: UP031 - braces
    # In single quotes: Claude Code fills the variable in, and keeps the token out of its file.
    header = "'Authorization: Bearer ${%s}'" % TOKEN_VARIABLE  # noqa: UP031 - braces
    return (
        ClientLines(
            client="Claude Code",
            text=f"claude mcp add --transport http {_NAME} {url} --header {header}",
        ),
        ClientLines(
            client="Codex",
            file="~/.codex/config.toml",
            text=_toml({"url": url, "bearer_token_env_var": TOKEN_VARIABLE}),
        ),
        ClientLines(
            client="VS Code",
            file=".vscode/mcp.json",
            text=_json("servers", {"type": "http", "url": url, "headers": by_name}),
        ),
        ClientLines(
            client="Cursor",
            file=".cursor/mcp.json",
            text=_json("mcpServers", {"url": url, "headers": by_name}),
        ),
    )


def _toml(fields: dict[str, Any]) -> str:
    # A JSON string or array of strings is a TOML one too.
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join([f"[mcp_servers.{_NAME}]", *lines])


def _json(collection: str, entry: dict[str, Any]) -> str:
    return json.dumps({collection: {_NAME: entry}})
