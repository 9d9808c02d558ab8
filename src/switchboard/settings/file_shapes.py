"""What each file of the configuration may hold, made from the rows of `fields`."""

from msgspec.structs import replace

from switchboard.config.strict import Anything, Items, Members, Table, Text, Truth, Whole
from switchboard.settings.fields import SECTIONS, SKILLS
from switchboard.settings.server_fields import ENV_NAME, SERVER
from switchboard.settings.server_shapes import (
    GIVEN_SERVER,
    PROVIDERS,
    SERVER_OBJECT,
    TOML_SERVERS,
)

_SERVERS = Members(value=SERVER_OBJECT, about=SERVER.about)

SIDECAR = Table(
    noun="`mcp.json`",
    about="MCP servers, by name.",
    fields={"mcpServers": _SERVERS, "mcp_servers": _SERVERS},
    notes={
        "servers": "write `mcpServers`",
        "tools": "this file declares servers only; choose subtools in `switchboard.config.json`",
    },
)

_GIVEN_SERVERS = Members(value=GIVEN_SERVER)
GIVEN = Table(
    noun="the file",
    fields=dict.fromkeys(("mcpServers", "mcp_servers", "servers"), _GIVEN_SERVERS),
    unknown="warning",
)

_SHAPES = {
    file: {
        name: kind
        for section in SECTIONS
        if section.file == file
        for name, kind in (
            {section.name: section.kind()} if section.name else section.shape().fields
        ).items()
    }
    for file in ("config.toml", "switchboard.config.json")
}

SUITES = Table(
    noun="`switchboard.config.json`",
    about="How children are shown as suites.",
    fields={
        "$schema": Text(),
        **_SHAPES["switchboard.config.json"],
    },
)

_ENV = replace(SERVER_OBJECT.fields["env"], about="")
CHILD = Table(
    noun="a child file",
    about="One suite child, in a directory of its own.",
    unknown="warning",
    fields={
        "$schema": Text(),
        "name": Text(empty=False, about="The name of the child."),
        "type": Text(choices=("stdio",)),
        "command": Table(
            noun="`command`",
            unknown="warning",
            required=("cmd",),
            fields={"cmd": Text(empty=False), "args": Items(item=Text()), "env": _ENV},
            about="Without it the child is `node dist/index.js`.",
        ),
        **SERVER.shape(".mcp.json").fields,
    },
    required=("name",),
    notes={"mcpServers": "this is one child, not a list: name the server itself with `name`"},
)

READ_ROOTS, WRITABLE_ROOTS, READ_ENV_FILES = (
    SERVER_OBJECT.fields[name] for name in ("read_roots", "writable_roots", "read_env_files")
)
_COMMAND = Table(
    noun="a command tool",
    about="A program that runs once for each call. Arguments come as `{name}` and on stdin.",
    fields={
        "command": Text(empty=False, about="The program. There is no shell."),
        "args": Items(
            item=Text(), about="`{name}` is an argument; an item without its argument is left out."
        ),
        "cwd": Text(empty=False, about="Where it runs, from the workspace; there by default."),
        "env": _ENV,
        "sandbox_profile": Text(
            choices=("default", "seatbelt", "none"), about="`none` counts in your home only."
        ),
        "allow_network": Truth(about="Off by default, and a high risk."),
        "read_roots": READ_ROOTS,
        "writable_roots": WRITABLE_ROOTS,
        "read_env_files": READ_ENV_FILES,
        "requires_approval": Truth(about="`false` counts in your home only, for a low risk."),
        "timeout_ms": Whole(minimum=1, about="How long a call may take; 120,000 by default."),
        "streaming": Truth(about="Pass on what it prints while it runs."),
        "description": Text(about="What the model reads."),
        "display_name": Text(empty=False, about="What people read."),
        "input_schema": Members(value=Anything(), about="JSON Schema of the arguments."),
        "side_effects": Items(
            item=Text(choices=("filesystem-read", "filesystem-write", "network")),
            about="What it does to the world. Nothing but reading needs no approval.",
        ),
        "allow_cwd_override": Truth(about="Let a session choose where it runs."),
        "allow_env_overrides": Items(
            item=Text(pattern=ENV_NAME, says="a name of letters, digits and `_`"),
            about="The variables that a session may set.",
        ),
    },
    required=("command",),
    notes={"default_timeout_ms": "write `timeout_ms`", "allows_streaming": "write `streaming`"},
)


TOML = Table(
    noun="`config.toml`",
    about="Settings of Switchboard, and servers that are laid field over field.",
    # Strict inside the tables that we know; other tables may belong to a newer version.
    unknown="warning",
    fields={
        **_SHAPES["config.toml"],
        "mcp": Members(value=_COMMAND, about="Command tools by name."),
    },
    notes={"mcpServers": "in TOML this is `mcp_servers`"},
)

# AGH's own settings are none of our business; only what seed files share is read.
FOREIGN_TOML = Table(
    noun="`config.toml`",
    unknown="ignore",
    fields={
        "mcp_servers": TOML_SERVERS,
        "providers": PROVIDERS,
        "skills": replace(SKILLS.shape(), unknown="ignore"),
    },
)
