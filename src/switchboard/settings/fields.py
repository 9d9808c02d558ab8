"""Every key of the configuration, one row each.

Whatever reads, checks, limits, explains or documents keys derives from these rows. To add a key,
add its row, and the attribute that it is read into: here, in `server_fields` for one of a server,
or in the section of the provider that uses it.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from switchboard.children.exposure import RESULT_MODES, Faces, Introspection, Results
from switchboard.config.environ import Variable
from switchboard.config.keys import Field, Section
from switchboard.config.locate import DEFAULT_GLOBS
from switchboard.config.strict import Either, Items, Members, Text, Truth, Whole
from switchboard.people.options import ALGORITHMS, PeopleOptions
from switchboard.pocket.notices.ways import PATTERN as NOTIFY_PATTERN
from switchboard.providers.table import TABLE, source_of
from switchboard.runs.limits import RunLimits
from switchboard.settings.files.server_shapes import PROVIDERS, TOML_SERVERS
from switchboard.settings.group_shape import GROUP
from switchboard.settings.sections import (
    Interpreting,
    Keeping,
    LastingAnswers,
    Listener,
    Logging,
    LoginOptions,
    Timeouts,
    ToolFilters,
)
from switchboard.settings.server_fields import SUITE
from switchboard.settings.workspace_limits import narrowed_suites, narrowed_tools
from switchboard.vault.options import VaultOptions

_WORD = Text(empty=False)
_URL = r"https?://[^\s/?#@]+[^\s?#]*"
_SAYS_URL = "an address that begins with https://"

_GATE = Truth(about="Ask before calls that could do harm, and write down what runs.")

# fmt: off
ROOT = Section(name="", fields=(
    Field("guard", _GATE, default=True, workspace="tightens",
        variables=("enable_mcp_server_surface", "ENABLE_MCP_SERVER_SURFACE")),
    Field("enable_mcp_server_surface", _GATE, workspace="tightens", means="guard"),
    # From the widest on: a workspace may only go further down.
    Field("approval_channel", Text(choices=("any", "console", "none"), about=(
        "Who may approve calls that must ask: the client too, the console only, nobody.")),
        default="any", workspace="tightens"),
    Field("approval_timeout", Whole(minimum=1, maximum=86_400, about=(
        "Seconds that a question about a call waits for an answer. Silence is no.")),
        default=120, workspace="never"),
    Field("sandbox_fallback", Text(choices=("none", "landlock"), about=(
        "What confines programs where bubblewrap cannot work. `landlock` is weaker.")),
        default="none", workspace="never"),
    Field("trust_workspace", Truth(about=(
        "Trust whatever the workspace holds, for containers and CI.")), files=(),
        workspace="never", variables=("SWITCHBOARD_TRUST_WORKSPACE",), flag="trust_workspace"),
    Field("trust_variable", Truth(about=(
        "Let `SWITCHBOARD_TRUST_WORKSPACE` count in a home that has settings or trusted folders.")),
        default=False, workspace="never"),
    Field("surface_tokens", Either(
        first=Text(choices=("lean", "balanced", "direct")), other=Whole(maximum=100_000), about=(
        "How many tokens of tools are listed; all others are found and called by `find_tool` and "
        "`call_tool`."))),
    Field("mcp_servers", TOML_SERVERS),
    Field("providers", PROVIDERS, workspace="never",
        unused="no session asks for the servers of a model provider"),
))

LISTENER = Section(name="server", into=Listener, fields=(
    Field("transport", Text(choices=("stdio", "http"), about="How clients reach Switchboard."),
        variables=("TRANSPORT",), flag="transport"),
    Field("host", Text(empty=False, about="Where HTTP listens."),
        variables=("HOST",), flag="host"),
    Field("port", Whole(maximum=65_535, about="The port of HTTP."),
        variables=("PORT",), flag="port"),
    Field("allow_remote", Truth(about="Listen on other addresses than loopback."),
        workspace="never", variables=("SWITCHBOARD_ALLOW_REMOTE",), flag="allow_remote"),
    Field("enable_mcp_server_surface", _GATE, workspace="tightens", means="guard"),
))

LOGGING = Section(name="logging", into=Logging, fields=(
    Field("pretty", Truth(about="The same as `format`."), variables=("TRACING_PRETTY",)),
    Field("compact", Truth(about="The same as `format`."), variables=("TRACING_COMPACT",)),
    Field("json", Truth(about="The same as `format`."), variables=("TRACING_JSON",)),
    Field("format", Text(choices=("json", "compact", "pretty"), about=(
        "How lines of the log look."))),
    Field("level", Text(empty=False, about="The same as `filter`.")),
    Field("filter", Text(empty=False, about="A level, or directives: `switchboard=debug`."),
        variables=("RUST_LOG", "TRACING_FILTER")),
    Field("to_file", Truth(about="Write the log to a file."),
        workspace="never", variables=("LOG_TO_FILE",)),
    Field("dir", Text(empty=False, about="The folder of that file."),
        workspace="never", variables=("LOG_DIR",)),
))

TOOLS = Section(name="tools", into=ToolFilters, admit=narrowed_tools, fields=(
    Field("allow", Items(item=_WORD, about="Show only these tools."), workspace="tightens",
        variables=("SWITCHBOARD_TOOLS_ALLOW",)),
    Field("deny", Items(item=_WORD, about="Never show these. Deny wins."), workspace="tightens"),
    Field("roots", Items(item=_WORD, about=(
        "Where command tools may run and lead to; the workspace by default.")),
        workspace="never"),
))

DAEMON = Section(name="daemon", into=Keeping, fields=(
    Field("idle_ms", Whole(about="End the daemon after so long without a client; 0 keeps it."),
        workspace="never", variables=("SWITCHBOARD_DAEMON_IDLE_MS",)),
))

RUNS = Section(name="runs", into=RunLimits, fields=(
    Field("max_runs", Whole(minimum=1, maximum=64, about=(
        "How many runs of agents work at once.")), workspace="never"),
    Field("max_per_engine", Whole(minimum=1, maximum=64, about=(
        "How many of them may have the same engine.")), workspace="never"),
    Field("max_per_workspace", Whole(minimum=1, maximum=64, about=(
        "How many of them may belong to the same workspace.")), workspace="never"),
    Field("parallel_writes", Truth(about=(
        "Let runs that may write in one workspace work side by side.")), workspace="never"),
    Field("retention_days", Whole(minimum=1, about="Forget runs so long after their end."),
        workspace="never"),
    Field("queue", Text(empty=False, about=(
        "The queue that runs of a team wait in; `host:NAME` is that of one machine.")),
        workspace="never"),
    Field("priorities", Members(value=Whole(minimum=1, maximum=1000), about=(
        "Which runs of a team go first, by agent: the lowest number, 100 where none is given. "
        "`default` stands for all others.")), workspace="never"),
))

# Who is told what people ask for is for them to say, never for a repository.
NATURAL = Section(name="natural_language", into=Interpreting, fields=(
    Field("engine", Text(choices=("anthropic", "codex", "claude"), about=(
        "Who is asked: the Messages API of Anthropic, Codex or Claude Code."), hint=(
        "an agent that speaks ACP is not asked: nothing keeps it from doing more than answer")),
        workspace="never"),
    Field("model", Text(empty=False, about="The model that is asked."), workspace="never"),
    Field("timeout_ms", Whole(minimum=1, maximum=600_000, about=(
        "The longest that the model may take.")), workspace="never"),
    Field("max_tokens", Whole(minimum=1, maximum=100_000, about=(
        "The longest answer of the Messages API.")), workspace="never"),
))

# A repository that could say where secrets are kept could have them.
VAULT = Section(name="vault", into=VaultOptions, fields=(
    Field("engine", Text(choices=("file", "hashicorp"), about=(
        "Where secrets are: in an encrypted file of the home, or on a server.")),
        workspace="never"),
    Field("key", Text(choices=("auto", "keychain", "key-file", "own-key-file", "passphrase"),
        about="Where a new key of that file is put; `auto` finds the best place."),
        workspace="never"),
    Field("key_file", Text(empty=False, about="A file that holds that key: 64 hex digits."),
        workspace="never", variables=("SWITCHBOARD_VAULT_KEY_FILE",)),
    Field("address", Text(empty=False, about=(
        "The server, HashiCorp Vault or OpenBao: `https://host:8200`.")), workspace="never"),
    Field("mount", Text(empty=False, about="Its KV engine of version 2."), workspace="never"),
    Field("prefix", Text(about="The folder of that engine that secrets are in."),
        workspace="never"),
    Field("namespace", Text(empty=False, about="The namespace of the server."),
        workspace="never"),
    Field("token_file", Text(empty=False, about=(
        "The token for the server, if VAULT_TOKEN is not set; `~/.vault-token` by default.")),
        workspace="never"),
    Field("ca_file", Text(empty=False, about=(
        "The certificate authority of the server, if the system does not know it.")),
        workspace="never"),
    Field("timeout_ms", Whole(minimum=1, maximum=60_000, about=(
        "The longest that the server may take.")), workspace="never"),
))

LOGIN = Section(name="login", into=LoginOptions, fields=(
    Field("client_metadata_url", Text(
        pattern=r"https://[^\s/?#]+/[^\s?#]+", says="an https URL with a path", about=(
        "The client ID for authorization servers that read a published description.")),
        workspace="never", variables=("SWITCHBOARD_CLIENT_METADATA_URL",)),
))

APPROVALS = Section(name="approvals", into=LastingAnswers, fields=(
    Field("allow", Items(item=Text(
        pattern=r'(?:"[^"]+"|[^."\s][^.\s]*)\.\S+',
        says="a name as `server.tool`, with `*` for any"), about=(
        "Tools of your own servers that say nothing of themselves and need no question.")),
        workspace="never"),
    Field("notify", Items(item=Text(
        pattern=NOTIFY_PATTERN, private=True,
        says="`desktop`, `ntfy:TOPIC`, `ntfy:https://HOST/TOPIC`, `webhook:https://…` or "
        "`command:PROGRAM …`"), about=(
        "How you are told that a question waits: `desktop`, `ntfy:TOPIC`, `webhook:https://…`, "
        "`command:PROGRAM …`.")), workspace="never"),
    Field("detail", Truth(about="Tell the arguments, too, not only the tool and where it runs."),
        workspace="never"),
))

# Who may come in is for whoever runs the gateways to say.
PEOPLE = Section(name="people", into=PeopleOptions, required=("issuer", "resource"), fields=(
    Field("issuer", Text(pattern=_URL, says=_SAYS_URL, about=(
        "Who gives the people of a team their tokens (OpenID Connect), as it names itself.")),
        workspace="never"),
    Field("resource", Text(pattern=_URL, says=_SAYS_URL, about=(
        "The address that clients know the gateways by, `https://team.example/mcp`: tokens have to "
        "be for it.")), workspace="never"),
    Field("audience", Items(item=_WORD, about="Other names that tokens may be for."),
        workspace="never"),
    Field("jwks_url", Text(pattern=_URL, says=_SAYS_URL, about=(
        "Where the keys of the issuer are, if it does not say so itself.")), workspace="never"),
    Field("algorithms", Items(item=Text(choices=ALGORITHMS), about=(
        "The signatures that count.")), workspace="never"),
    Field("scopes", Items(item=_WORD, about="Scopes that a token has to have."),
        workspace="never"),
    Field("subject_claim", Text(empty=False, about="The claim that tells people apart."),
        workspace="never"),
    Field("name_claim", Text(empty=False, about="The claim with the name that others read."),
        workspace="never"),
    Field("groups_claim", Text(empty=False, about=(
        "The claim with the groups of a person; dots lead into nested ones.")), workspace="never"),
    Field("required_group", Text(empty=False, about="Let in only those who are in this group."),
        workspace="never"),
    Field("clock_skew", Whole(maximum=600, about=(
        "Seconds by which the clock of the issuer may be off.")), workspace="never"),
    Field("shared_token", Truth(about=(
        "Let whoever shows `SWITCHBOARD_TOKEN` in as well, as one person named `team`.")),
        workspace="never"),
    Field("client_id", Text(empty=False, about=(
        "The public client that people log in by at the page of the gateways, `/people/`.")),
        workspace="never"),
    Field("groups", Members(value=GROUP, about=(
        "What the people of each group see, and who answers for them; `*` is everybody.")),
        workspace="never"),
))

SKILLS = Section(name="skills", fields=(
    Field("active", Items(item=_WORD, about="Skills whose servers are used."), workspace="never",
        variables=("SWITCHBOARD_SKILLS",)),
    Field("allowed_marketplace_mcp", Items(item=_WORD, about=(
        "Marketplace skills whose servers may be used.")), workspace="never"),
))

DISCOVERY = Section(name="", file="switchboard.config.json", fields=(
    Field("discover_globs", Items(item=_WORD, about=(
        "Where child files lie, relative to the workspace.")), default=DEFAULT_GLOBS),
))

TIMEOUTS = Section(
    name="timeouts", file="switchboard.config.json", also=("config.toml",), noun="`timeouts`",
    into=Timeouts, fields=(
        Field("child_spawn_ms", Whole(minimum=1, about="The start of a child's process.")),
        Field("rpc_ms", Whole(minimum=1, about="One request to a child.")),
        Field("idle_ms", Whole(about=(
            "Stop a child after so long without a call; 0 keeps it."))),
        Field("longest_ms", Whole(minimum=1, about="A call whose child reports progress.")),
    ),
)

SURFACE = Section(
    name="surface", file="switchboard.config.json", also=("config.toml",), noun="`surface`",
    into=Faces, fields=(
        Field("split", Text(choices=("never", "auto", "always"), about=(
            "Whether each suite has a second tool for what only reads, so that hosts can tell it "
            "from what writes; `auto` asks a table of hosts."))),
    ),
)

RESULTS = Section(
    name="results", file="switchboard.config.json", also=("config.toml",), noun="`results`",
    into=Results, fields=(
        Field("mode", Text(choices=RESULT_MODES, about=(
            "What all suites answer with: the JSON of a result, the same without what says nothing "
            "more, or the contents as the child gives them."))),
        Field("inline_tokens", Whole(maximum=1_000_000, about=(
            "Results of more tokens are kept for the session: the model gets beginning, end, shape "
            "and a handle for `read_result`. 0 turns it off."))),
        Field("handles", Text(choices=("auto", "always"), about=(
            "Whether hosts that put long results into files themselves get handles, too."))),
        Field("keep", Text(
            pattern=r"0|[1-9]\d{0,5}[smhd]", says="a time such as `24h`, or `0`", about=(
            "For how long an outcome is kept that its client has not got; `0` keeps none, and "
            "cancels a call whose client has left.")), workspace="never"),
    ),
)

INTROSPECTION = Section(
    name="introspection", file="switchboard.config.json", also=("config.toml",),
    noun="`introspection`", into=Introspection, fields=(
        Field("mode", Text(choices=("summary", "full", "auto"), about=(
            "How much `introspect` says of each subtool; `auto` leaves schemas out of long answers."
            )), flag="introspection_mode"),
        Field("format", Text(choices=("json", "signatures"), about=(
            "Whether `introspect` answers JSON with schemas, or a line for each subtool: "
            "`name(path: string, depth?: int) - summary`."))),
        Field("summary_max_chars", Whole(minimum=1, about="The longest summary of a subtool.")),
    ),
)
# fmt: on

# Without the sections of providers. Problems of variables are told in this order.
SECTIONS = (
    *(LISTENER, LOGGING, ROOT, DAEMON, RUNS, NATURAL, VAULT, LOGIN, APPROVALS, PEOPLE),
    *(TOOLS, SKILLS),
    *(DISCOVERY, replace(SUITE, admit=narrowed_suites), TIMEOUTS, RESULTS, SURFACE),
    INTROSPECTION,
)
_BY_NAME = {section.name: section for section in SECTIONS if section.name}
_OF_PROVIDERS = {row.section: key for key, row in TABLE.items() if row.section}


def section_of(name: str) -> Section | None:
    """The section of a name. That of a provider is loaded when somebody writes it."""
    key = _OF_PROVIDERS.get(name)
    return _BY_NAME.get(name) if key is None else source_of(key).section


def all_sections() -> tuple[Section, ...]:
    """Every section, those of providers too."""
    others = (section_of(name) for name in _OF_PROVIDERS)
    return (*SECTIONS, *(section for section in others if section is not None))


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


# Sections of another file that `config.toml` may hold as well: how the tree spells their keys.
SPELLED_IN_TREE = {
    section.name: {field.name: field.spelled(section.file) for field in section.fields}
    for section in SECTIONS
    if "config.toml" in section.also
}


def variables_of(section: Section) -> Iterator[Variable]:
    """The variables that set keys of a section."""
    for field in section.fields:
        for name in field.variables:
            yield Variable(name=name, key=path_of(section, field), kind=field.kind)


VARIABLES = tuple(variable for section in SECTIONS for variable in variables_of(section))
# Those of providers too, by name alone: what they set is known when one of them is set.
VARIABLE_NAMES = frozenset(
    (
        *(variable.name for variable in VARIABLES),
        *(name for row in TABLE.values() for name in row.variables),
    )
)


def variables_in(environ: Mapping[str, str]) -> Iterator[Variable]:
    """The variables that may set something here. A provider is loaded when one of its own is."""
    yield from VARIABLES
    for row in TABLE.values():
        if any(environ.get(name) for name in row.variables):
            section = section_of(row.section)
            if section is not None:
                yield from variables_of(section)


FLAGS = {
    field.flag: Variable(name=field.flag, key=path_of(section, field), kind=field.kind)
    for section in SECTIONS
    for field in section.fields
    if field.flag
}
