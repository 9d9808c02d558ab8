"""The keys of a server, and of the suite that shows it, one row each. See `fields`."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from switchboard.children.exposure import RESULT_MODES, SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.config.keys import Field, FileName, Section
from switchboard.config.strict import Either, Items, Members, Table, Text, Truth, Whole
from switchboard.core.network.egress import HOST_PATTERN, METHOD_PATTERN
from switchboard.vault.references import (
    CLIENT_SECRET_PATTERN,
    ENV_NAME,
    ENV_PATTERN,
    HEADER_NAME,
)

_ENV_REF = rf"env:{ENV_NAME}"
# What an item of `match` may be: see `children/accounts/patterns.py`.
_MATCH = r"remote:[^\s:/]\S*|dir:(?:~|~/.*|/.*)"
_SECRET_REF = rf"{_ENV_REF}|vault:{ENV_PATTERN}"
_CLIENT_SECRET_REF = rf"{_ENV_REF}|vault:{CLIENT_SECRET_PATTERN}"
WEB_URL = r"[hH][tT][tT][pP][sS]?://[^\s/?#\x00-\x20][^\s\x00-\x20]*"

_ENV_KEY = Text(pattern=ENV_NAME, says="a name of letters, digits and `_`")
_HEADER = Text(pattern=HEADER_NAME, says="the name of an HTTP header")
_URL = Text(pattern=WEB_URL, says="an absolute http or https URL")
_WORD = Text(empty=False)
_EXPOSE = Text(
    choices=("suite", "tools"),
    about="Show the tools behind one suite tool, or one by one under their own names.",
)

_EXPOSE_LISTS = Table(
    noun="`expose`",
    fields={
        "as": _EXPOSE,
        "allow": Items(item=_WORD, about="Show only these subtools."),
        "deny": Items(item=_WORD, about="Never show these. Deny wins."),
    },
)
_SECRET = Text(
    pattern=_SECRET_REF, says="`env:NAME` or `vault:mcp/<server>/env/<KEY>`", private=True
)

_SIZE = Text(pattern=r"[1-9][0-9]{0,11}[KMGT]?", says="bytes, as in `512M` or `1G`")
_LIMITS = Table(
    noun="`limits`",
    about="What the server may use at most in its sandbox; less than what holds for everybody.",
    fields={
        "memory": _SIZE,
        "processes": Whole(minimum=1, about="Processes and threads at once."),
        "files": Whole(minimum=16, about="Open files of one process."),
        "cpu": Whole(minimum=1, about="Seconds of processor time of one process."),
        "disk": _SIZE,
    },
)

# Where servers are declared, where a suite child declares itself, and where suites change children.
_DECLARED: tuple[FileName, ...] = ("config.toml", "mcp.json", "--config")
_CHILD: tuple[FileName, ...] = (*_DECLARED, ".mcp.json")
_SUITE: tuple[FileName, ...] = (*_CHILD, "switchboard.config.json")

_AUTH = Table(
    noun="`auth`",
    about="OAuth 2.1 with PKCE: metadata and client settings, never a token.",
    fields={
        "type": Text(choices=("oauth2_pkce",)),
        "client_id": Text(empty=False, about="The client ID registered with the provider."),
        "client_secret_ref": Text(
            pattern=_CLIENT_SECRET_REF,
            says="`env:NAME` or `vault:mcp/<server>/oauth/client-secret`",
            private=True,
        ),
        "issuer_url": _URL,
        "metadata_url": _URL,
        "authorization_url": _URL,
        "token_url": _URL,
        "revocation_url": _URL,
        "scopes": Items(item=_WORD),
    },
    conditions={
        "required": ["type", "client_id"],
        "dependentRequired": {
            "authorization_url": ["token_url"],
            "token_url": ["authorization_url"],
        },
        "anyOf": [
            {"required": ["metadata_url"]},
            {"required": ["issuer_url"]},
            {"required": ["authorization_url", "token_url"]},
        ],
    },
    notes={"client_secret": "a secret is never written here: name it with `client_secret_ref`"},
)

_ACCOUNT = Table(
    noun="an account",
    fields={
        "auth": replace(_AUTH, about="As `auth` of a server; without it, found by itself."),
        "match": Items(
            item=Text(
                pattern=_MATCH,
                says="`remote:host/path` or `dir:~/folder`, with `*` and `**` as wildcards",
            ),
            about="Where it is used: the remote of the repository, or the folder.",
        ),
        "default": Truth(about="Use it where nothing matches."),
    },
)

_HOST = Text(
    pattern=HOST_PATTERN,
    says="a host such as `api.example.com`, `*.example.com`, `10.0.0.5` or `[::1]`, with or "
    "without `:port`",
    around=r"(?:[a-z]+://)?([^/?#@]+)[/?#]?.*",
)
EGRESS = Either(
    first=Items(item=_HOST),
    other=Members(
        key=_HOST,
        value=Table(
            noun="a host of `egress`",
            fields={
                "methods": Items(
                    item=Text(pattern=METHOD_PATTERN, says="a method in capitals, such as `GET`"),
                    about="The only HTTP methods that are passed on.",
                ),
                "inject": replace(_SECRET, about="Put on at the edge; never given to the server."),
            },
        ),
    ),
    about="The only hosts that it may reach from its sandbox; counts in your home only.",
)

# fmt: off
SERVER = Section(
    name="mcp_servers",
    file="mcp.json",
    noun="a server",
    about="Servers by name.",
    is_named=True,
    fills_late=True,
    into=ServerEntry,
    fields=(
        Field("transport", Text(choices=("stdio", "http", "sse"), about=(
            "Without it, `command` means stdio and `url` means http; also written `type`.")),
            files=_DECLARED, bound="value"),
        Field("command", Text(empty=False, about="The program of a stdio server."),
            files=_DECLARED, bound="value"),
        Field("args", Items(item=Text(), about="Its arguments, passed as they are."),
            files=_DECLARED, bound="value"),
        Field("env", Members(value=Text(), key=_ENV_KEY, about=(
            "Literal environment values of a stdio server.")),
            files=_CHILD, bound="value"),
        Field("secret_env", Members(value=_SECRET, key=_ENV_KEY, about=(
            "Environment values that are looked up when the server starts.")),
            files=_DECLARED, bound="value"),
        Field("url", replace(_URL, about="The endpoint of a remote one."),
            files=_DECLARED, bound="value"),
        Field("auth", _AUTH, files=_DECLARED, bound="value"),
        Field("accounts", Members(value=_ACCOUNT, key=Text(
            pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
            says="a name of letters, digits, `.`, `_` and `-`, at most 64"), about=(
            "Several logins at a remote server, by name, in place of `auth`.")),
            # Refused there: see `account_rules`.
            files=_DECLARED, bound="unless-default", workspace="never"),
        Field("headers", Members(value=Text(), key=_HEADER, about=(
            "HTTP headers for a remote server; `env:NAME` and `vault:mcp/…` are looked up.")),
            files=_DECLARED, bound="members"),
        Field("cwd", Text(empty=False, about="Where it runs."), files=("--config",), bound="value"),
        Field("start_in", Text(choices=("workspace", "neutral"), about=(
            "Where a server starts that is not the workspace's own: in the workspace, and with the"
            " modules and settings there, or in an empty folder.")),
            files=_CHILD, bound="unless-default"),
        Field("follow", Text(choices=("worktree",), about=(
            "Look at the git worktree that the caller works in: each has a process of its own,"
            " which starts there.")),
            files=_CHILD, bound="unless-default"),
        Field("inherit_env", Truth(about=(
            "Start the server with the whole environment of Switchboard.")),
            files=_SUITE, bound="value"),
        Field("framing", Text(choices=("auto", "newline", "content-length"), about=(
            "How a stdio server separates messages; `auto` finds out.")), files=_SUITE),
        Field("protocol", Text(choices=("auto", "handshake", "modern"), about=(
            "How to greet the server; `auto` finds out.")), files=_SUITE),
        Field("scope", Text(choices=("session", "workspace", "user", "singleton"), about=(
            "Who shares the running server: one session, all of a workspace, or all of a user. Each"
            " gateway of a team has its own, but of a `singleton` there is one for all of them.")),
            files=_SUITE, bound="value"),
        Field("share", Text(choices=("strict", "loose"), about=(
            "With whom: sessions whose environment is the same as far as it could see, or, `loose`,"
            " all of its scope, in the environment of the first.")),
            files=_SUITE, bound="unless-default"),
        Field("per_person", Truth(about=(
            "In a team whose people are told apart, give each of them one of their own, with their"
            " own secrets and login.")), files=_DECLARED, bound="unless-default"),
        Field("expose", _EXPOSE, files=_SUITE),
        Field("tool_prefix", Text(
            pattern=r"[A-Za-z0-9_-]{0,32}", says="letters, digits, `_` and `-`, at most 32",
            about="Put before the names of tools that are shown one by one."), files=_SUITE),
        Field("relay", Truth(about=(
            "Show its prompts and resources too; true unless said otherwise.")), files=_SUITE),
        Field("trust_annotations", Truth(about=(
            "False makes every tool of the server ask, also those that it says only read.")),
            files=_CHILD, bound="unless-default"),
        Field("rpc_timeout_ms", Whole(minimum=1, about="The longest that one request may take."),
            files=_SUITE),
        Field("sandbox_profile", Text(choices=("default", "seatbelt", "none"), about=(
            "What keeps a stdio server in bounds; without it nothing does.")),
            files=_CHILD, bound="sandboxed"),
        Field("allow_network", Truth(about="Let the server reach the network from its sandbox."),
            files=_CHILD, bound="sandboxed"),
        Field("read_roots", Items(item=_WORD, about=(
            "Folders that the server may read in its sandbox.")),
            files=_CHILD, bound="sandboxed"),
        Field("writable_roots", Items(item=_WORD, about=(
            "Folders that the server may change, beside its own.")),
            files=_CHILD, bound="sandboxed"),
        Field("read_env_files", Truth(about="Let the server read `.env` files in its sandbox."),
            files=_CHILD, bound="sandboxed"),
        # Dropped there: see `egress_rules`.
        Field("sandbox_features", Items(item=Text(choices=("browser",)), about=(
            "What the server needs in its sandbox on top: `browser` for one that starts a "
            "browser; counts in your home only.")),
            files=_DECLARED, bound="unless-default", workspace="never"),
        Field("limits", _LIMITS, files=_CHILD, bound="unless-default"),
        # Dropped there: see `egress_rules`.
        Field("egress", EGRESS, files=_DECLARED, bound="unless-default", workspace="never"),
        Field("egress_ask", Truth(about=(
            "Ask a person about a host that is not in `egress`, instead of refusing it.")),
            files=_DECLARED, bound="unless-default", workspace="never"),
        Field("natural_language", Truth(about=(
            "Let a model turn a sentence into one call of one subtool: `natural_language`.")),
            files=_SUITE, bound="unless-default"),
        # These two follow from where a child file lies, and from what lies beside it.
        Field("natural_only", Truth(about=(
            "Show that subtool alone: set where a child file runs a wrapper.")),
            files=(), bound="unless-default"),
        Field("instructions", Text(about=(
            "What that model is told: the `CLAUDE.md` beside a child file.")), files=()),
        # Words reach the model, and can do there what a program does here.
        Field("description", Text(about="What it is."), files=_CHILD, bound="value"),
        Field("suite_description", Text(about="The description of its suite tool."),
            alias="switchboardDescription", files=(".mcp.json",), bound="value"),
    ),
    notes={
        "cwd": "a server of this file always runs in the workspace",
        "disabled": "whether a server is off is its user's choice: `switchboard disable NAME`",
        "enabled": "whether a server is off is its user's choice: `switchboard disable NAME`",
        "tools": "this file declares servers only; choose subtools in `switchboard.config.json`",
        "timeout": "write `rpc_timeout_ms`",
        "serverUrl": "write `url`",
    },
)
# fmt: on

# What keeps the process of a server in bounds.
SANDBOX = tuple(field for field in SERVER.fields if field.bound == "sandboxed")


def profile_of(fields: Mapping[str, Any]) -> str:
    """The sandbox that a server has: as written, else `default` where only a sandbox can do it."""
    wants = not fields.get("url") and (fields.get("egress") or fields.get("limits"))
    return str(fields.get("sandbox_profile") or ("default" if wants else "none"))


# What a workspace may say of the suite of a server that is its user's own. Of its own servers it
# may say everything: those wait for trust.
_TIGHTENED = ("relay", "rpc_timeout_ms")
# fmt: off
SUITE = Section(
    name="suites",
    file="switchboard.config.json",
    noun="a suite",
    about="Suites by the name of their child.",
    is_named=True,
    into=SuiteSettings,
    fields=(
        Field("suite_name", Text(empty=False, about="The name of the suite tool."),
            workspace="never", bound="value"),
        Field("description", Text(about=(
            "Used when the child does not describe its suite itself.")),
            workspace="never", bound="value"),
        Field("override_description", Truth(about="Let `description` win over the child's own."),
            workspace="never", bound="value"),
        Field("expose", Either(
            first=_EXPOSE, other=_EXPOSE_LISTS, about="How it is shown, and how much.")),
        Field("summary_max_chars", Whole(minimum=1, about="The longest summary of a subtool.")),
        Field("result_mode", Text(choices=RESULT_MODES, about=(
            "What this suite answers with, instead of `results.mode`.")),
            workspace="never"),
        Field("inline_tokens", Whole(maximum=1_000_000, about=(
            "How many tokens a result of this server may have, instead of `results.inline_tokens`; "
            "0 for any number.")), workspace="never"),
        Field("idle_ms", Whole(about=(
            "Stop the child after so long without a call; 0 keeps it.")), workspace="tightens"),
        *(
            replace(field, workspace="tightens" if field.name in _TIGHTENED else "never")
            for field in SERVER.fields
            if field.files == _SUITE and field.name != "expose"
        ),
    ),
    notes={
        "allow": "put it inside `expose`",
        "deny": "put it inside `expose`",
        "name": "write `suiteName`",
    },
)
# fmt: on
# What a suite changes of its server.
OVERRIDES = tuple(field.name for field in SERVER.fields if field.files == _SUITE)
