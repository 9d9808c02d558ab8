"""What each file of the configuration may hold."""

from typing import Any

from msgspec import Struct

from switchboard.config.spots import KeyPath
from switchboard.config.strict import Either, Items, Members, Report, Table, Text, Truth, Whole
from switchboard.providers.table import TABLE, source_of
from switchboard.settings.server_shape import (
    ALLOW_NETWORK,
    ENV_NAME,
    EXPOSURE,
    GIVEN_SERVERS,
    READ_ENV_FILES,
    READ_ROOTS,
    RELAY,
    SANDBOX_PROFILE,
    SCOPE,
    SERVERS,
    TOML_SERVERS,
    TOOL_PREFIX,
    TRUST_ANNOTATIONS,
    WRITABLE_ROOTS,
)


class SourceShape(Struct, frozen=True):
    """The section of a provider, which is loaded when somebody writes it."""

    key: str

    @property
    def kind(self) -> Table | Members:
        """What the provider says that its section may hold."""
        section = source_of(self.key).section
        assert section is not None, f"`{self.key}` has a section in the table and declares none"
        return section.kind()

    def check(self, value: Any, at: KeyPath, report: Report) -> bool:
        return self.kind.check(value, at, report)

    def wanted(self) -> str:
        return self.kind.wanted()


_WORDS = Items(item=Text(empty=False))
_FRAMING = Text(choices=("auto", "newline", "content-length"))
_PROTOCOL = Text(choices=("auto", "handshake", "modern"))
_ENV = Members(value=Text(), key=Text(pattern=ENV_NAME, says="a name of letters, digits and `_`"))

SIDECAR = Table(
    noun="`mcp.json`",
    about="MCP servers, by name.",
    fields={"mcpServers": SERVERS, "mcp_servers": SERVERS},
    notes={
        "servers": "write `mcpServers`",
        "tools": "this file declares servers only; choose subtools in `switchboard.config.json`",
    },
)

GIVEN = Table(
    noun="the file",
    fields={"mcpServers": GIVEN_SERVERS, "mcp_servers": GIVEN_SERVERS, "servers": GIVEN_SERVERS},
    unknown="warning",
)

_EXPOSE_LISTS = Table(
    noun="`expose`",
    fields={
        "as": EXPOSURE,
        "allow": Items(item=Text(empty=False), about="Show only these subtools."),
        "deny": Items(item=Text(empty=False), about="Never show these. Deny wins."),
    },
)

_EXPOSE = Either(first=EXPOSURE, other=_EXPOSE_LISTS, about="How it is shown, and how much.")

_SUITE = Table(
    noun="a suite",
    fields={
        "suiteName": Text(empty=False, about="The name of the suite tool."),
        "description": Text(about="Used when the child does not describe its suite itself."),
        "overrideDescription": Truth(about="Let `description` win over the child's own."),
        "expose": _EXPOSE,
        "toolPrefix": TOOL_PREFIX,
        "relay": RELAY,
        "summaryMaxChars": Whole(minimum=1),
        "resultMode": Text(choices=("json", "passthrough")),
        "rpcTimeoutMs": Whole(minimum=1),
        "idleMs": Whole(about="Stop the child after so long without a call; 0 keeps it."),
        "framing": _FRAMING,
        "protocol": _PROTOCOL,
        "scope": SCOPE,
        "inheritEnv": Truth(about="Start the child with the whole environment of Switchboard."),
    },
    notes={
        "allow": "put it inside `expose`",
        "deny": "put it inside `expose`",
        "name": "write `suiteName`",
    },
)

SUITES = Table(
    noun="`switchboard.config.json`",
    about="How children are shown as suites.",
    fields={
        "$schema": Text(),
        "discoverGlobs": Items(
            item=Text(empty=False), about="Where child files lie, relative to the workspace."
        ),
        "suites": Members(value=_SUITE, about="Suites by the name of their child."),
        "timeouts": Table(
            noun="`timeouts`",
            fields={
                "childSpawnMs": Whole(minimum=1, about="The start of a child's process."),
                "rpcMs": Whole(minimum=1, about="One request to a child."),
                "idleMs": Whole(about="Stop a child after so long without a call; 0 keeps it."),
                "longestMs": Whole(minimum=1, about="A call whose child reports progress."),
            },
        ),
        "introspection": Table(
            noun="`introspection`",
            fields={
                "mode": Text(choices=("summary", "full")),
                "summaryMaxChars": Whole(minimum=1),
            },
        ),
    },
)

CHILD = Table(
    noun="a child file",
    about="One suite child, in a directory of its own.",
    unknown="warning",
    fields={
        "$schema": Text(),
        "name": Text(empty=False, about="The name of the child."),
        "description": Text(about="What the server is."),
        "switchboardDescription": Text(about="The description of its suite tool."),
        "type": Text(choices=("stdio",)),
        "command": Table(
            noun="`command`",
            unknown="warning",
            required=("cmd",),
            fields={"cmd": Text(empty=False), "args": Items(item=Text()), "env": _ENV},
            about="Without it the child is `node dist/index.js`.",
        ),
        "rpcTimeoutMs": Whole(minimum=1),
        "framing": _FRAMING,
        "protocol": _PROTOCOL,
        "scope": SCOPE,
        "expose": EXPOSURE,
        "toolPrefix": TOOL_PREFIX,
        "relay": RELAY,
        "inheritEnv": Truth(),
        "sandboxProfile": SANDBOX_PROFILE,
        "allowNetwork": ALLOW_NETWORK,
        "readRoots": READ_ROOTS,
        "writableRoots": WRITABLE_ROOTS,
        "readEnvFiles": READ_ENV_FILES,
        "trustAnnotations": TRUST_ANNOTATIONS,
        "env": _ENV,
    },
    required=("name",),
    notes={"mcpServers": "this is one child, not a list: name the server itself with `name`"},
)

_AGENTS = Table(
    noun="`[agents]`",
    fields={
        **{
            name: Truth()
            for name in (
                "enable_codex",
                "enable_anthropic",
                "enable_vscode",
                "mcp_discovery",
                "limit_mcp_to_referenced",
                "enumerate",
                "enum_strict",
                "enum_fallback_all",
                "toolmap_enable",
                "toolmap_allow_custom_servers",
                "model_map_enable",
                "model_map_strict",
                "model_map_override_provider",
                "model_map_normalize_provider",
                "skip_self",
            )
        },
        **dict.fromkeys(("codex_dirs", "anthropic_dirs", "vscode_dirs"), _WORDS),
        **{
            name: Text()
            for name in (
                "prefix_codex",
                "prefix_anthropic",
                "prefix_vscode",
                "filter",
                "vscode_user_mcp",
                "model_map_file",
            )
        },
        "enum_timeout_ms": Whole(minimum=1),
        "enum_max_servers": Whole(),
        "enum_fallback": Text(choices=("none", "all")),
    },
)

_GATE = Truth(about="Ask before calls that could do harm, and write down what runs.")
_PROVIDERS = Members(
    value=Table(noun="a provider", fields={"mcp_servers": TOML_SERVERS}, unknown="ignore")
)
_SKILLS_FIELDS = {
    "allowed_marketplace_mcp": Items(
        item=Text(empty=False), about="Marketplace skills whose servers may be used."
    )
}

TOML = Table(
    noun="`config.toml`",
    about="Settings of Switchboard, and servers that are laid field over field.",
    # Strict inside the tables that we know; other tables may belong to a newer version.
    unknown="warning",
    fields={
        "enable_mcp_server_surface": _GATE,
        "approval_channel": Text(
            choices=("any", "console", "none"),
            about="Who may approve calls of high risk: the client too, the console only, nobody.",
        ),
        "server": Table(
            noun="`[server]`",
            fields={
                "transport": Text(choices=("stdio", "http")),
                "host": Text(empty=False),
                "port": Whole(maximum=65_535),
                "allow_remote": Truth(about="Listen on other addresses than loopback."),
                "enable_mcp_server_surface": _GATE,
            },
        ),
        "logging": Table(
            noun="`[logging]`",
            fields={
                "to_file": Truth(),
                "dir": Text(empty=False),
                "json": Truth(),
                "compact": Truth(),
                "pretty": Truth(),
                "format": Text(choices=("json", "compact", "pretty")),
                "level": Text(empty=False),
                "filter": Text(empty=False),
            },
        ),
        "tools": Table(
            noun="`[tools]`",
            fields={
                "allow": Items(item=Text(empty=False), about="Show only these tools."),
                "deny": Items(item=Text(empty=False), about="Never show these. Deny wins."),
                "roots": Items(
                    item=Text(empty=False),
                    about="Where command tools may run and lead to; the workspace by default.",
                ),
            },
        ),
        "daemon": Table(
            noun="`[daemon]`",
            fields={
                "idle_ms": Whole(about="End the daemon after so long without a client; 0 keeps it.")
            },
        ),
        "skills": Table(noun="`[skills]`", fields=_SKILLS_FIELDS),
        "agents": _AGENTS,
        **{row.section: SourceShape(key) for key, row in TABLE.items() if row.section},
        "mcp_servers": TOML_SERVERS,
        "providers": _PROVIDERS,
    },
    notes={"mcpServers": "in TOML this is `mcp_servers`"},
)

# AGH's own settings are none of our business; only what seed files share is read.
FOREIGN_TOML = Table(
    noun="`config.toml`",
    unknown="ignore",
    fields={
        "mcp_servers": TOML_SERVERS,
        "providers": _PROVIDERS,
        "skills": Table(noun="`[skills]`", fields=_SKILLS_FIELDS, unknown="ignore"),
    },
)
