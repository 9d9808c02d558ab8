"""Hosts with a window of their own that are no editors."""

from switchboard.hosts.host import Host, ServersFile, Spelling
from switchboard.hosts.known.common import CONFIG, MAC, SERVERS, UNFILLED, in_project

WINDOWS: tuple[Host, ...] = (
    Host(
        id="claude-desktop",
        title="Claude Desktop",
        files=(
            ServersFile(
                path=f"{CONFIG}/Claude/claude_desktop_config.json",
                darwin=f"{MAC}/Claude/claude_desktop_config.json",
                form="json",
                servers=SERVERS,
            ),
        ),
        spelling=UNFILLED,
        remark="quit the app first, and look at its list when it has started again: it writes"
        " this file itself",
    ),
    Host(
        id="warp",
        title="Warp",
        files=(
            ServersFile(path="~/.warp/.mcp.json", form="jsonc", servers=SERVERS),
            in_project(".warp/.mcp.json"),
        ),
        spelling=Spelling(cwd="working_directory", filling="none"),
        only_told="it sees the entries of Claude Code and Codex already",
    ),
    Host(
        id="lm-studio",
        title="LM Studio",
        files=(
            ServersFile(path="~/.lmstudio/mcp.json", form="jsonc", servers=SERVERS),
            ServersFile(
                path="~/.cache/lm-studio/mcp.json",
                form="jsonc",
                servers=SERVERS,
                is_only_if_there=True,
            ),
        ),
        spelling=UNFILLED,
        only_told="it rewrites its file whenever it saves",
    ),
)
