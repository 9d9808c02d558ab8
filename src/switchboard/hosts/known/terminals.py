"""Hosts that run in a terminal."""

from switchboard.hosts.host import Host, HostGrant, ServersFile, Spelling
from switchboard.hosts.known.common import (
    CONFIG,
    LONGEST_MS,
    LONGEST_S,
    SERVERS,
    STARTING_S,
    in_project,
)

_CODEX = ("mcp_servers",)
_OPENCODE = (("mcp",), ("mcp", "servers"))
_AMP = ("amp.mcpServers",)
_TEAM = ServersFile(path=".mcp.json", form="json", servers=SERVERS, scope="project", is_shared=True)
_CLAUDE_SETTINGS = "{CLAUDE_CONFIG_DIR|~/.claude}/settings.json"
_GEMINI = Spelling(
    urls=(("httpUrl", "http"), ("url", "")),
    timeout="timeout",
    timeout_unit_s=0.001,
    filling="dollar",
    allowed_tools="includeTools",
    hidden_tools="excludeTools",
)
# A list of servers that alone are used hides us until we are on it.
_LISTED = HostGrant(keys=("mcp", "allowed"), value="switchboard", form="jsonc", needs_key=True)


def _gemini_file(path: str) -> ServersFile:
    return ServersFile(
        path=path, form="jsonc", servers=SERVERS, only=("mcp", "allowed"), off=("mcp", "excluded")
    )


def _opencode(servers: tuple[str, ...]) -> tuple[ServersFile, ...]:
    return (
        ServersFile(path=f"{CONFIG}/opencode/opencode.json", form="jsonc", servers=servers),
        ServersFile(
            path=f"{CONFIG}/opencode/opencode.jsonc",
            form="jsonc",
            servers=servers,
            is_only_if_there=True,
        ),
        in_project("opencode.json", servers),
        in_project("opencode.jsonc", servers),
        in_project(".opencode/opencode.json", servers),
        in_project(".opencode/opencode.jsonc", servers),
    )


TERMINALS: tuple[Host, ...] = (
    Host(
        id="claude-code",
        title="Claude Code",
        program="claude",
        files=(
            ServersFile(
                path="{CLAUDE_CONFIG_DIR|~}/.claude.json",
                form="json",
                servers=SERVERS,
                projects="projects",
                off_in_project="disabledMcpServers",
            ),
            _TEAM,
        ),
        spelling=Spelling(
            bare_url="refused", timeout="timeout", timeout_unit_s=0.001, timeout_least=999
        ),
        entry={"type": "stdio", "alwaysLoad": True, "timeout": LONGEST_MS},
        grants=(
            HostGrant(
                path=_CLAUDE_SETTINGS,
                keys=("permissions", "allow"),
                value="mcp__switchboard",
                is_for_gate=True,
            ),
            HostGrant(
                path=_CLAUDE_SETTINGS,
                keys=("permissions", "allow"),
                value="mcp__switchboard__{tool}",
            ),
        ),
        rule_files=(".claude/settings.json", ".claude/settings.local.json"),
        has_lock=True,
        lists=("claude", "mcp", "list"),
    ),
    Host(
        id="codex",
        title="Codex",
        program="codex",
        files=(
            ServersFile(path="{CODEX_HOME|~/.codex}/config.toml", form="toml", servers=_CODEX),
            ServersFile(path=".codex/config.toml", form="toml", servers=_CODEX, scope="project"),
        ),
        spelling=Spelling(
            filling="none",
            env_names="env_vars",
            headers="http_headers",
            named_headers="env_http_headers",
            named_bearer="bearer_token_env_var",
            timeout="tool_timeout_sec",
            allowed_tools="enabled_tools",
            hidden_tools="disabled_tools",
        ),
        entry={
            "startup_timeout_sec": STARTING_S,
            "tool_timeout_sec": LONGEST_S,
            "supports_parallel_tool_calls": True,
        },
        guarded_entry={"default_tools_approval_mode": "approve"},
        passes_no_variables=True,
        lists=("codex", "mcp", "list"),
    ),
    Host(
        id="copilot-cli",
        title="Copilot CLI",
        program="copilot",
        files=(
            ServersFile(
                path="{COPILOT_HOME|~/.copilot}/mcp-config.json", form="jsonc", servers=SERVERS
            ),
            ServersFile(path=".github/mcp.json", form="json", servers=SERVERS, scope="project"),
        ),
        # Whether it fills anything in is said by its pages, and not by what it does.
        spelling=Spelling(timeout="timeout", timeout_unit_s=0.001, filling="none"),
        entry={"type": "local", "tools": ["*"], "deferTools": "never", "timeout": LONGEST_MS},
        passes_no_variables=True,
        lists=("copilot", "mcp", "list"),
        tool_letters=52,
    ),
    Host(
        id="gemini",
        title="Gemini CLI",
        program="gemini",
        files=(_gemini_file("~/.gemini/settings.json"), in_project(".gemini/settings.json")),
        spelling=_GEMINI,
        entry={"timeout": LONGEST_MS},
        guarded_entry={"trust": True},
        grants=(_LISTED,),
        lists=("gemini", "mcp", "list"),
        tool_letters=47,
        remark="Gemini CLI starts no servers, not even yours, until you trust the folder there",
    ),
    Host(
        id="antigravity",
        title="Antigravity",
        program="agy",
        files=(
            ServersFile(path="~/.gemini/config/mcp_config.json", form="jsonc", servers=SERVERS),
            ServersFile(
                path="~/.gemini/antigravity/mcp_config.json",
                form="jsonc",
                servers=SERVERS,
                is_only_if_there=True,
                left_by="~/.gemini/config/.migrated",
            ),
            *(
                in_project(f"{folder}/mcp_config.json")
                for folder in (".agents", ".agent", "_agents", "_agent")
            ),
        ),
        spelling=Spelling(
            urls=(("serverUrl", ""), ("url", "")), hidden_tools="disabledTools", filling="none"
        ),
        lists=("agy", "mcp", "list"),
        remark="it ends a call after about three minutes",
    ),
    Host(
        id="qwen",
        title="Qwen Code",
        program="qwen",
        files=(
            _gemini_file("{QWEN_HOME|~/.qwen}/settings.json"),
            in_project(".qwen/settings.json"),
        ),
        spelling=Spelling(
            urls=(("httpUrl", "http"), ("url", "sse")),
            timeout="timeout",
            timeout_unit_s=0.001,
            filling="dollar",
            allowed_tools="includeTools",
            hidden_tools="excludeTools",
        ),
        entry={"timeout": LONGEST_MS, "discoveryTimeoutMs": STARTING_S * 1000},
        guarded_entry={"trust": True},
        grants=(_LISTED,),
        lists=("qwen", "mcp", "list"),
        tool_letters=45,
    ),
    Host(
        id="opencode",
        title="opencode",
        program="opencode",
        version="1",
        files=_opencode(_OPENCODE[0]),
        spelling=Spelling(
            is_one_list=True,
            env="environment",
            timeout="timeout",
            timeout_unit_s=0.001,
            filling="env-braces",
        ),
        entry={"type": "local", "enabled": True, "timeout": LONGEST_MS},
        grants=(
            HostGrant(
                keys=("permission",),
                name="switchboard_*",
                value="allow",
                form="jsonc",
                is_for_gate=True,
                needs_asking=True,
            ),
            HostGrant(
                keys=("permission",),
                name="switchboard_{tool}",
                value="allow",
                form="jsonc",
                needs_asking=True,
            ),
        ),
        lists=("opencode", "mcp", "list"),
    ),
    Host(
        id="opencode-2",
        title="opencode 2",
        program="opencode",
        version="2",
        files=_opencode(_OPENCODE[1]),
        spelling=Spelling(
            is_one_list=True,
            env="environment",
            timeout="timeout.request",
            timeout_unit_s=0.001,
            filling="env-braces",
        ),
        entry={
            "type": "local",
            "timeout": {"startup": STARTING_S * 1000, "request": LONGEST_MS},
        },
        lists=("opencode", "mcp", "list"),
    ),
    Host(
        id="crush",
        title="Crush",
        program="crush",
        files=(
            ServersFile(
                path=f"{CONFIG}/crush/crush.json",
                form="json",
                servers=("mcp",),
                instead=("{CRUSH_GLOBAL_CONFIG}/crush.json",),
            ),
            ServersFile(path="crush.json", form="json", servers=("mcp",), scope="project"),
            ServersFile(path=".crush.json", form="json", servers=("mcp",), scope="project"),
        ),
        spelling=Spelling(
            filling="dollar", allowed_tools="enabled_tools", hidden_tools="disabled_tools"
        ),
        # For connecting; a call has no limit of its own.
        entry={"type": "stdio", "timeout": STARTING_S},
        grants=(HostGrant(keys=("permissions", "allowed_tools"), value="mcp_switchboard_{tool}"),),
        remark="a `crushrc` is a program: it is neither read nor changed",
    ),
    Host(
        id="amp",
        title="Amp",
        program="amp",
        files=(
            ServersFile(
                path=f"{CONFIG}/amp/settings.jsonc",
                form="jsonc",
                servers=_AMP,
                is_only_if_there=True,
            ),
            ServersFile(path=f"{CONFIG}/amp/settings.json", form="jsonc", servers=_AMP),
            in_project(".amp/settings.json", _AMP),
            in_project(".amp/settings.jsonc", _AMP),
        ),
        spelling=Spelling(allowed_tools="includeTools", filling="dollar"),
        grants=(
            HostGrant(
                keys=("amp.permissions",),
                value={"tool": "mcp__switchboard__*", "action": "allow"},
                form="jsonc",
                is_for_gate=True,
            ),
            HostGrant(
                keys=("amp.permissions",),
                value={"tool": "mcp__switchboard__{tool}", "action": "allow"},
                form="jsonc",
            ),
        ),
        lists=("amp", "mcp", "list"),
    ),
    Host(
        id="droid",
        title="Factory Droid",
        program="droid",
        files=(
            ServersFile(path="~/.factory/mcp.json", form="jsonc", servers=SERVERS),
            in_project(".factory/mcp.json"),
        ),
        spelling=Spelling(
            timeout="timeoutMs",
            timeout_unit_s=0.001,
            allowed_tools="enabledTools",
            hidden_tools="disabledTools",
        ),
        entry={"type": "stdio", "timeoutMs": LONGEST_MS},
    ),
    Host(
        id="goose",
        title="Goose",
        program="goose",
        files=(
            ServersFile(
                path=f"{CONFIG}/goose/config.yaml",
                darwin="~/.config/goose/config.yaml",
                form="yaml",
                servers=("extensions",),
                instead=("{GOOSE_PATH_ROOT}/config/config.yaml",),
            ),
        ),
        spelling=Spelling(
            command="cmd",
            env="envs",
            kept_names="env_keys",
            urls=(("uri", ""),),
            timeout="timeout",
            filling="own",
            allowed_tools="available_tools",
            brought=("bundled", "type=builtin|platform|frontend|inline_python"),
        ),
        entry={
            "type": "stdio",
            "name": "switchboard",
            "description": "Every MCP server behind one gate",
            "enabled": True,
            "timeout": LONGEST_S,
        },
    ),
)
