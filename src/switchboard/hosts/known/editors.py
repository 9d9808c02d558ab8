"""Hosts that are editors, or live in one."""

from switchboard.hosts.host import Host, HostGrant, ServersFile, Spelling
from switchboard.hosts.known.common import (
    CONFIG,
    LONGEST_S,
    MAC,
    SERVERS,
    UNFILLED,
    in_project,
)

_CLINE = "cline_mcp_settings.json"
_JUNIE = "{JUNIE_HOME|~/.junie}"


def _code(id_: str, title: str, program: str, folder: str) -> Host:
    return Host(
        id=id_,
        title=title,
        program=program,
        files=(
            ServersFile(
                path=f"{CONFIG}/{folder}/User/mcp.json",
                darwin=f"{MAC}/{folder}/User/mcp.json",
                form="jsonc",
                servers=("servers",),
            ),
            in_project(".vscode/mcp.json", ("servers",)),
        ),
        spelling=Spelling(filling="env"),
        entry={"type": "stdio"},
        workspace="${workspaceFolder}",
        remark=f"{title} asks once more whether you trust the entry",
    )


EDITORS: tuple[Host, ...] = (
    _code("vscode", "VS Code", "code", "Code"),
    _code("vscode-insiders", "VS Code Insiders", "code-insiders", "Code - Insiders"),
    Host(
        id="cursor",
        title="Cursor",
        program="cursor",
        files=(
            ServersFile(path="~/.cursor/mcp.json", form="jsonc", servers=SERVERS),
            in_project(".cursor/mcp.json"),
        ),
        spelling=Spelling(filling="env"),
        entry={"type": "stdio"},
        workspace="${workspaceFolder}",
        tool_letters=48,
    ),
    Host(
        id="devin",
        title="Devin Desktop and CLI",
        program="devin",
        files=(
            ServersFile(path=f"{CONFIG}/devin/mcp_config.json", form="jsonc", servers=SERVERS),
            in_project(".devin/mcp_config.json"),
            in_project(".devin/mcp_config.local.json"),
        ),
        spelling=Spelling(type="transport", filling="env"),
        lists=("devin", "mcp", "list"),
    ),
    Host(
        id="windsurf",
        title="Windsurf (Cascade)",
        files=(
            ServersFile(path="~/.codeium/windsurf/mcp_config.json", form="jsonc", servers=SERVERS),
            ServersFile(
                path="~/.codeium/mcp_config.json",
                form="jsonc",
                servers=SERVERS,
                is_only_if_there=True,
            ),
        ),
        spelling=Spelling(urls=(("serverUrl", ""), ("url", "")), filling="env"),
        remark="Windsurf is Devin Desktop now; its new agent reads the files of Devin",
    ),
    Host(
        id="cline",
        title="Cline",
        files=(
            ServersFile(
                path=f"~/.cline/data/settings/{_CLINE}",
                form="json",
                servers=SERVERS,
                instead=(
                    "{CLINE_MCP_SETTINGS_PATH}",
                    f"{{CLINE_DATA_DIR}}/settings/{_CLINE}",
                    f"{{CLINE_DIR}}/data/settings/{_CLINE}",
                ),
            ),
        ),
        spelling=Spelling(
            bare_url="sse",
            filling="env",
            timeout="timeout",
            timeout_most=3_600,
            allowed_tools="autoApprove",
            brought=("remoteConfigured",),
        ),
        entry={"type": "stdio", "timeout": LONGEST_S},
        reading_key="autoApprove",
        passes_no_variables=True,
        has_lock=True,
        tool_letters=51,
    ),
    Host(
        id="kiro",
        title="Kiro",
        program="kiro-cli",
        files=(
            ServersFile(path="~/.kiro/settings/mcp.json", form="jsonc", servers=SERVERS),
            in_project(".kiro/settings/mcp.json"),
        ),
        spelling=Spelling(allowed_tools="autoApprove", hidden_tools="disabledTools"),
        reading_key="autoApprove",
        lists=("kiro-cli", "mcp", "list"),
        takes_plain_names=True,
    ),
    Host(
        id="zed",
        title="Zed",
        program="zed",
        files=(
            ServersFile(
                path=f"{CONFIG}/zed/settings.json",
                darwin="~/.config/zed/settings.json",
                form="jsonc",
                servers=("context_servers",),
            ),
            in_project(".zed/settings.json", ("context_servers",)),
        ),
        spelling=Spelling(
            timeout="timeout", filling="none", brought=("settings", "source=extension")
        ),
        entry={"timeout": LONGEST_S},
    ),
    Host(
        id="jetbrains",
        title="JetBrains AI Assistant",
        files=(
            ServersFile(path="~/.ai/mcp/mcp.json", form="jsonc", servers=SERVERS),
            in_project(".ai/mcp/mcp.json"),
        ),
        spelling=UNFILLED,
        only_told="whether a running IDE keeps a change of its file is not known",
    ),
    Host(
        id="junie",
        title="Junie",
        program="junie",
        files=(
            ServersFile(path=f"{_JUNIE}/mcp/mcp.json", form="jsonc", servers=SERVERS),
            in_project(".junie/mcp/mcp.json"),
        ),
        spelling=UNFILLED,
        grants=(
            HostGrant(
                path=f"{_JUNIE}/allowlist.json",
                keys=("rules", "mcpTools", "rules"),
                value={"prefix": "switchboard:", "action": "allow"},
                is_for_gate=True,
            ),
        ),
    ),
)
