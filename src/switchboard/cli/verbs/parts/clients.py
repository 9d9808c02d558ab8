"""The exact lines that make Switchboard known to a client."""

import json
import shlex
from typing import Any

from msgspec import Struct

TOKEN_VARIABLE = "SWITCHBOARD_TOKEN"  # noqa: S105 - the name of a variable
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
