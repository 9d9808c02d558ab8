"""Every key of the configuration, one row each.

Whatever reads, checks, limits, explains or documents keys derives from these rows. To add a key,
add its row, and the attribute that it is read into: here, in `server_fields` for one of a server,
or in the section of the provider that uses it.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from switchboard.config.environ import Variable
from switchboard.config.keys import Field, Section
from switchboard.config.locate import DEFAULT_GLOBS
from switchboard.config.strict import Items, Text, Truth, Whole
from switchboard.providers.suites.schema import Introspection
from switchboard.settings.narrowing import narrowed_suites, narrowed_tools
from switchboard.settings.provider_sections import COMMANDS, YARD
from switchboard.settings.sections import Keeping, Listener, Logging, Timeouts, ToolFilters
from switchboard.settings.server_fields import SUITE
from switchboard.settings.server_shapes import PROVIDERS, TOML_SERVERS

_WORD = Text(empty=False)
_WORDS = Items(item=_WORD)

_GATE = Truth(about="Ask before calls that could do harm, and write down what runs.")

ROOT = Section(
    name="",
    fields=(
        Field(
            name="enable_mcp_server_surface",
            kind=_GATE,
            default=False,
            workspace="tightens",
            variables=("enable_mcp_server_surface", "ENABLE_MCP_SERVER_SURFACE"),
        ),
        Field(
            name="approval_channel",
            # From the widest on: a workspace may only go further down.
            kind=Text(
                choices=("any", "console", "none"),
                about="Who may approve calls of high risk: "
                "the client too, the console only, nobody.",
            ),
            default="any",
            workspace="tightens",
        ),
        Field(
            name="trust_workspace",
            kind=Truth(about="Trust whatever the workspace holds, for containers and CI."),
            files=(),
            workspace="never",
            variables=("SWITCHBOARD_TRUST_WORKSPACE",),
            flag="trust_workspace",
        ),
        Field(name="mcp_servers", kind=TOML_SERVERS),
        Field(
            name="providers",
            kind=PROVIDERS,
            workspace="never",
            unused="no session asks for the servers of a model provider",
        ),
    ),
)

LISTENER = Section(
    name="server",
    into=Listener,
    fields=(
        Field(
            name="transport",
            kind=Text(choices=("stdio", "http"), about="How clients reach Switchboard."),
            variables=("TRANSPORT",),
            flag="transport",
        ),
        Field(
            name="host",
            kind=Text(empty=False, about="Where HTTP listens."),
            variables=("HOST",),
            flag="host",
        ),
        Field(
            name="port",
            kind=Whole(maximum=65_535, about="The port of HTTP."),
            variables=("PORT",),
            flag="port",
        ),
        Field(
            name="allow_remote",
            kind=Truth(about="Listen on other addresses than loopback."),
            workspace="never",
            variables=("SWITCHBOARD_ALLOW_REMOTE",),
            flag="allow_remote",
        ),
        Field(
            name="enable_mcp_server_surface",
            kind=_GATE,
            workspace="tightens",
            means="enable_mcp_server_surface",
        ),
    ),
)

LOGGING = Section(
    name="logging",
    into=Logging,
    fields=(
        Field(
            name="pretty", kind=Truth(about="The same as `format`."), variables=("TRACING_PRETTY",)
        ),
        Field(
            name="compact",
            kind=Truth(about="The same as `format`."),
            variables=("TRACING_COMPACT",),
        ),
        Field(name="json", kind=Truth(about="The same as `format`."), variables=("TRACING_JSON",)),
        Field(
            name="format",
            kind=Text(choices=("json", "compact", "pretty"), about="How lines of the log look."),
        ),
        Field(name="level", kind=Text(empty=False, about="The same as `filter`.")),
        Field(
            name="filter",
            kind=Text(empty=False, about="A level, or directives: `switchboard=debug`."),
            variables=("RUST_LOG", "TRACING_FILTER"),
        ),
        Field(
            name="to_file",
            kind=Truth(about="Write the log to a file."),
            workspace="never",
            variables=("LOG_TO_FILE",),
        ),
        Field(
            name="dir",
            kind=Text(empty=False, about="The folder of that file."),
            workspace="never",
            variables=("LOG_DIR",),
        ),
    ),
)

TOOLS = Section(
    name="tools",
    into=ToolFilters,
    admit=narrowed_tools,
    fields=(
        Field(
            name="allow",
            kind=Items(item=_WORD, about="Show only these tools."),
            workspace="tightens",
        ),
        Field(
            name="deny",
            kind=Items(item=_WORD, about="Never show these. Deny wins."),
            workspace="tightens",
        ),
        Field(
            name="roots",
            kind=Items(
                item=_WORD,
                about="Where command tools may run and lead to; the workspace by default.",
            ),
            workspace="never",
        ),
    ),
)

DAEMON = Section(
    name="daemon",
    into=Keeping,
    fields=(
        Field(
            name="idle_ms",
            kind=Whole(about="End the daemon after so long without a client; 0 keeps it."),
            workspace="never",
            variables=("SWITCHBOARD_DAEMON_IDLE_MS",),
        ),
    ),
)


SKILLS = Section(
    name="skills",
    unused="no session asks for the servers of a skill",
    fields=(
        Field(
            name="allowed_marketplace_mcp",
            kind=Items(item=_WORD, about="Marketplace skills whose servers may be used."),
            workspace="never",
        ),
    ),
)


def _agents(kind: Any, **variables: str) -> Iterator[Field]:
    for name, variable in variables.items():
        yield Field(name=name, kind=kind, variables=(variable,) if variable else ())


AGENTS = Section(
    name="agents",
    unused="agents are not run",
    fields=(
        *_agents(
            Truth(),
            enable_codex="AGENTS_ENABLE_CODEX",
            enable_anthropic="AGENTS_ENABLE_ANTHROPIC",
            enable_vscode="AGENTS_ENABLE_VSCODE",
            mcp_discovery="AGENTS_MCP_DISCOVERY",
            limit_mcp_to_referenced="AGENTS_MCP_LIMIT_REFERENCED",
            enumerate="AGENTS_MCP_ENUMERATE",
            enum_strict="AGENTS_MCP_ENUM_STRICT",
            enum_fallback_all="",
            toolmap_enable="AGENTS_TOOLMAP_ENABLE",
            toolmap_allow_custom_servers="AGENTS_TOOLMAP_ALLOW_CUSTOM_SERVERS",
            model_map_enable="AGENTS_MODEL_MAP_ENABLE",
            model_map_strict="AGENTS_MODEL_MAP_STRICT",
            model_map_override_provider="AGENTS_MODEL_MAP_OVERRIDE_PROVIDER",
            model_map_normalize_provider="AGENTS_MODEL_MAP_NORMALIZE_PROVIDER",
            skip_self="SWITCHBOARD_SKIP_SELF",
        ),
        *_agents(
            _WORDS,
            codex_dirs="AGENTS_DIRS",
            anthropic_dirs="ANTHROPIC_AGENTS_DIRS",
            vscode_dirs="VSCODE_CHATMODES_DIRS",
        ),
        *_agents(
            Text(),
            prefix_codex="AGENTS_PREFIX_CODEX",
            prefix_anthropic="AGENTS_PREFIX_ANTHROPIC",
            prefix_vscode="AGENTS_PREFIX_VSCODE",
            filter="AGENTS_FILTER",
            vscode_user_mcp="VSCODE_USER_MCP",
            model_map_file="AGENTS_MODEL_MAP_FILE",
        ),
        *_agents(Whole(minimum=1), enum_timeout_ms="AGENTS_MCP_ENUM_TIMEOUT_MS"),
        *_agents(Whole(), enum_max_servers="AGENTS_MCP_MAX_SERVERS"),
        *_agents(Text(choices=("none", "all")), enum_fallback="AGENTS_MCP_ENUM_FALLBACK"),
    ),
)

DISCOVERY = Section(
    name="",
    file="switchboard.config.json",
    fields=(
        Field(
            name="discover_globs",
            kind=Items(item=_WORD, about="Where child files lie, relative to the workspace."),
            default=DEFAULT_GLOBS,
        ),
    ),
)

TIMEOUTS = Section(
    name="timeouts",
    file="switchboard.config.json",
    noun="`timeouts`",
    into=Timeouts,
    fields=(
        Field(
            name="child_spawn_ms", kind=Whole(minimum=1, about="The start of a child's process.")
        ),
        Field(name="rpc_ms", kind=Whole(minimum=1, about="One request to a child.")),
        Field(
            name="idle_ms",
            kind=Whole(about="Stop a child after so long without a call; 0 keeps it."),
        ),
        Field(
            name="longest_ms", kind=Whole(minimum=1, about="A call whose child reports progress.")
        ),
    ),
)

INTROSPECTION = Section(
    name="introspection",
    file="switchboard.config.json",
    noun="`introspection`",
    into=Introspection,
    fields=(
        Field(
            name="mode",
            kind=Text(
                choices=("summary", "full"), about="How much `introspect` says of each subtool."
            ),
            flag="introspection_mode",
        ),
        Field(
            name="summary_max_chars",
            kind=Whole(minimum=1, about="The longest summary of a subtool."),
        ),
    ),
)

# Without the sections of providers. Problems of variables are told in this order.
SECTIONS = (
    *(LISTENER, LOGGING, ROOT, AGENTS, DAEMON, TOOLS, YARD, SKILLS),
    *(DISCOVERY, replace(SUITE, admit=narrowed_suites), TIMEOUTS, INTROSPECTION),
)
BY_NAME = {section.name: section for section in (*SECTIONS, COMMANDS) if section.name}


def path_of(section: Section, field: Field) -> tuple[str, ...]:
    """Where the value of a key stands in the tree that all files share."""
    name = field.spelled(section.file)
    return (section.name, name) if section.name else (name,)


# Keys that stand for one outside of all tables.
OTHER_SPELLINGS = {
    (section.name, field.name): field.means
    for section in SECTIONS
    for field in section.fields
    if field.means
}
VARIABLES = tuple(
    Variable(name=name, key=path_of(section, field), kind=field.kind)
    for section in SECTIONS
    for field in section.fields
    for name in field.variables
)
FLAGS = {
    field.flag: Variable(name=field.flag, key=path_of(section, field), kind=field.kind)
    for section in SECTIONS
    for field in section.fields
    if field.flag
}
