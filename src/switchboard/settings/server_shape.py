"""What a server object may hold, in every file that declares servers."""

from typing import Any

from msgspec.structs import replace

from switchboard.config.strict import Either, Items, Members, Table, Text, Truth, Whole

ENV_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
ENV_REF = rf"env:{ENV_NAME}"
SECRET_REF = rf"{ENV_REF}|vault:mcp/[^/\s]+/env/{ENV_NAME}"
CLIENT_SECRET_REF = rf"{ENV_REF}|vault:mcp/[^/\s]+/oauth/client-secret"
WEB_URL = r"[hH][tT][tT][pP][sS]?://[^\s/?#\x00-\x20]+[^\s\x00-\x20]*"
MAX_NAME = 128

_ENV_KEY = Text(pattern=ENV_NAME, says="a name of letters, digits and `_`")
_HEADER = Text(pattern=r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", says="the name of an HTTP header")
_URL = Text(pattern=WEB_URL, says="an absolute http or https URL")

# The conditions between fields, for the schemas; `server_rules` says them with positions.
CONDITIONS: dict[str, Any] = {
    "allOf": [
        {
            "if": {
                "anyOf": [
                    {"properties": {"transport": {"const": "stdio"}}, "required": ["transport"]},
                    {"not": {"anyOf": [{"required": ["transport"]}, {"required": ["url"]}]}},
                ]
            },
            "then": {
                "required": ["command"],
                "properties": {"url": False, "auth": False, "headers": False},
            },
        },
        {
            "if": {
                "anyOf": [
                    {
                        "properties": {"transport": {"enum": ["http", "sse"]}},
                        "required": ["transport"],
                    },
                    {"not": {"required": ["transport"]}, "required": ["url"]},
                ]
            },
            "then": {"required": ["url"], "properties": {"command": False, "secret_env": False}},
        },
    ]
}

AUTH_CONDITIONS: dict[str, Any] = {
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
}

AUTH = Table(
    noun="`auth`",
    about="OAuth 2.1 with PKCE: metadata and client settings, never a token.",
    fields={
        "type": Text(choices=("oauth2_pkce",)),
        "client_id": Text(empty=False, about="The client ID registered with the provider."),
        "client_secret_ref": Text(
            pattern=CLIENT_SECRET_REF,
            says="`env:NAME` or `vault:mcp/<server>/oauth/client-secret`",
            private=True,
        ),
        "issuer_url": _URL,
        "metadata_url": _URL,
        "authorization_url": _URL,
        "token_url": _URL,
        "revocation_url": _URL,
        "scopes": Items(item=Text(empty=False)),
    },
    conditions=AUTH_CONDITIONS,
    notes={"client_secret": "a secret is never written here: name it with `client_secret_ref`"},
)

SCOPE = Text(
    choices=("session", "workspace", "user"),
    about="Who shares the running server: one session, all of a workspace, or all of a user.",
)

SANDBOX_PROFILE = Text(
    choices=("default", "seatbelt", "none"),
    about="What keeps a stdio server in bounds; without it nothing does.",
)
ALLOW_NETWORK = Truth(about="Let the server reach the network from its sandbox.")
READ_ROOTS = Items(item=Text(empty=False), about="Folders that the server may read in its sandbox.")
WRITABLE_ROOTS = Items(
    item=Text(empty=False), about="Folders that the server may change, beside its own."
)
READ_ENV_FILES = Truth(about="Let the server read `.env` files in its sandbox.")
EXPOSURE = Text(
    choices=("suite", "tools"),
    about="Show the tools behind one suite tool, or one by one under their own names.",
)
TOOL_PREFIX = Text(
    pattern=r"[A-Za-z0-9_-]{0,32}",
    says="letters, digits, `_` and `-`, at most 32",
    about="Put before the names of tools that are shown one by one.",
)
TRUST_ANNOTATIONS = Truth(
    about="False makes every tool of the server ask, also those that it says only read."
)
RELAY = Truth(about="Show its prompts and resources too; true unless said otherwise.")

FIELDS: dict[str, Any] = {
    "transport": Text(
        choices=("stdio", "http", "sse"),
        about="Without it, `command` means stdio and `url` means http.",
    ),
    "command": Text(empty=False, about="The program of a stdio server."),
    "args": Items(item=Text(), about="Its arguments, passed as they are."),
    "env": Members(
        value=Text(), key=_ENV_KEY, about="Literal environment values of a stdio server."
    ),
    "secret_env": Members(
        value=Text(
            pattern=SECRET_REF,
            says="`env:NAME` or `vault:mcp/<server>/env/<KEY>`",
            private=True,
        ),
        key=_ENV_KEY,
        about="Environment values that are looked up when the server starts.",
    ),
    "url": Text(
        pattern=WEB_URL, says="an absolute http or https URL", about="The endpoint of a remote one."
    ),
    "auth": AUTH,
    "headers": Members(value=Text(), key=_HEADER, about="HTTP headers for a remote server."),
    "inherit_env": Truth(about="Start the server with the whole environment of Switchboard."),
    "framing": Text(choices=("auto", "newline", "content-length")),
    "protocol": Text(choices=("auto", "handshake", "modern")),
    "scope": SCOPE,
    "expose": EXPOSURE,
    "tool_prefix": TOOL_PREFIX,
    "relay": RELAY,
    "trust_annotations": TRUST_ANNOTATIONS,
    "rpc_timeout_ms": Whole(minimum=1, about="The longest that one request may take."),
    "sandbox_profile": SANDBOX_PROFILE,
    "allow_network": ALLOW_NETWORK,
    "read_roots": READ_ROOTS,
    "writable_roots": WRITABLE_ROOTS,
    "read_env_files": READ_ENV_FILES,
    "description": Text(),
}

NOTES = {
    "type": "write `transport`: `stdio`, `http` or `sse`",
    "cwd": "a server of this file always runs in the workspace",
    "disabled": "remove the server, or move it to a file of its own",
    "enabled": "remove the server, or move it to a file of its own",
    "tools": "this file declares servers only; choose subtools in `switchboard.config.json`",
    "timeout": "write `rpc_timeout_ms`",
    "serverUrl": "write `url`",
}

# Strict: a field that is not known fails the file.
SERVER = Table(noun="a server", fields=FIELDS, notes=NOTES, conditions=CONDITIONS)

# In TOML a layer may hold half a server, and `${VAR}` where a value will be.
_TOML_FIELDS = {
    **FIELDS,
    **{name: replace(FIELDS[name], later=True) for name in ("transport", "command", "url")},
    "auth": replace(
        AUTH,
        conditions={},
        fields={
            name: replace(kind, later=True) if isinstance(kind, Text) else kind
            for name, kind in AUTH.fields.items()
        },
    ),
}
TOML_SERVER = Table(noun="a server", fields=_TOML_FIELDS, notes=NOTES)

# An array of tables carries the name inside.
NAMED_SERVER = Table(
    noun="a server",
    fields={"name": Text(empty=False, about="The name of the server."), **_TOML_FIELDS},
    required=("name",),
    notes=NOTES,
)

SERVERS = Members(value=SERVER, about="Servers by name.")
TOML_SERVERS = Either(
    first=Items(item=NAMED_SERVER),
    other=Members(value=TOML_SERVER, about="Servers by name."),
    about="Servers, as a table by name or as an array of tables with `name`.",
)

# A file of another host, given by hand: its own words are understood, the rest only warned of.
GIVEN_SERVER = Table(
    noun="a server",
    fields={
        **FIELDS,
        "transport": Text(),
        "type": Text(),
        "cwd": Text(empty=False),
        "disabled": Truth(),
        "env": Members(value=Text(), key=Text(empty=False)),
    },
    unknown="warning",
)
GIVEN_SERVERS = Members(value=GIVEN_SERVER)
