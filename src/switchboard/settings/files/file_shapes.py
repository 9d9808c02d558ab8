"""What each file of the configuration may hold, made from the rows of `fields`."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from switchboard.config.key_positions import KeyPath
from switchboard.config.strict import Items, Members, ProblemReport, Table, Text
from switchboard.providers.table import TABLE, source_of
from switchboard.settings.fields import SECTIONS, SKILLS
from switchboard.settings.files.server_shapes import (
    GIVEN_SERVER,
    PROVIDERS,
    SERVER_OBJECT,
    TOML_SERVERS,
)
from switchboard.settings.server_fields import SERVER


class SourceShape(Struct, frozen=True):
    """The section of a provider, which is loaded when somebody writes it."""

    key: str

    @property
    def kind(self) -> Table | Members:
        """What the provider says that its section may hold."""
        section = source_of(self.key).section
        assert section is not None, f"`{self.key}` has a section in the table and declares none"
        return section.kind()

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        return self.kind.check(value, at, report)

    def wanted(self) -> str:
        return self.kind.wanted()


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
        if file in (section.file, *section.also)
        for name, kind in (
            {section.name: section.kind(file)} if section.name else section.shape(file).fields
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

TOML = Table(
    noun="`config.toml`",
    about="Settings of Switchboard, and servers that are laid field over field.",
    # Strict inside the tables that we know; other tables may belong to a newer version.
    unknown="warning",
    fields={
        **_SHAPES["config.toml"],
        **{row.section: SourceShape(key) for key, row in TABLE.items() if row.section},
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
