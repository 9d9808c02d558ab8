"""The exact lines that make Switchboard known to a client."""

import json
import shlex
from typing import Any

from msgspec import Struct

_NAME = "switchboard"


class ClientLines(Struct, frozen=True, kw_only=True):
    """What to type, or what to put into which file."""

    client: str
    # Empty when the text is a command for the shell.
    file: str = ""
    text: str


def stdio_lines(program: str, options: tuple[str, ...] = ()) -> tuple[ClientLines, ...]:
    """For clients that launch Switchboard themselves."""
    args = ["mcp", *options]
    # These two may start a server anywhere, so they are told the workspace.
    placed = [*args, "--workspace", "${workspaceFolder}"]
    placed = args if "--workspace" in args else placed
    return (
        ClientLines(
            client="Claude Code",
            text=shlex.join(["claude", "mcp", "add", _NAME, "--", program, *args]),
        ),
        ClientLines(
            client="Codex",
            file="~/.codex/config.toml",
            text=_toml({"command": program, "args": args}),
        ),
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
    )


def _toml(fields: dict[str, Any]) -> str:
    # A JSON string or array of strings is a TOML one too.
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join([f"[mcp_servers.{_NAME}]", *lines])


def _json(collection: str, entry: dict[str, Any]) -> str:
    return json.dumps({collection: {_NAME: entry}})
