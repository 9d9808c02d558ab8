"""What a server object may hold, in every file that declares servers."""

from typing import Any

from msgspec.structs import replace

from switchboard.config.strict import Either, Items, Members, Table, Text, Truth
from switchboard.settings.server_fields import SERVER

# What must hold between the fields of a server, for the schema; `server_rules` says it with
# positions.
_STDIO: dict[str, Any] = {"const": "stdio"}
_REMOTE: dict[str, Any] = {"enum": ["http", "sse", "streamable-http"]}


def _says(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {key: value}, "required": [key]}


def _silent(*keys: str) -> dict[str, Any]:
    return {"not": {"anyOf": [{"required": [key]} for key in keys]}}


_CONDITIONS: dict[str, Any] = {
    "allOf": [
        {
            "if": {
                "anyOf": [
                    _says("transport", _STDIO),
                    _says("type", _STDIO),
                    _silent("transport", "type", "url"),
                ]
            },
            "then": {
                "required": ["command"],
                "properties": {"url": False, "auth": False, "accounts": False, "headers": False},
            },
        },
        {
            "if": {
                "anyOf": [
                    _says("transport", _REMOTE),
                    _says("type", _REMOTE),
                    {**_silent("transport", "type"), "required": ["url"]},
                ]
            },
            "then": {"required": ["url"], "properties": {"command": False, "secret_env": False}},
        },
        {"if": {"required": ["accounts"]}, "then": {"properties": {"auth": False}}},
    ]
}

_TYPE = Text(
    choices=("stdio", "http", "streamable-http", "sse"), about="Another name of `transport`."
)

# Strict: a field that is not known fails the file.
SERVER_OBJECT = replace(SERVER.shape("mcp.json", type=_TYPE), conditions=_CONDITIONS)


def _filled_later(kind: Any) -> Any:
    """The same kind, where a layer may hold half of a server and `${VAR}` stands for a value."""
    if isinstance(kind, Table):
        inner = {name: _filled_later(each) for name, each in kind.fields.items()}
        return replace(kind, conditions={}, fields=inner)
    if isinstance(kind, Members):
        return replace(kind, value=_filled_later(kind.value))
    return replace(kind, later=True) if isinstance(kind, Text) else kind


_TOML_SERVER = SERVER.shape(
    "config.toml",
    type=_TYPE,
    **{
        name: _filled_later(SERVER_OBJECT.fields[name])
        for name in ("transport", "command", "url", "auth", "accounts")
    },
)
TOML_SERVERS = Either(
    # An array of tables carries the name inside.
    first=Items(
        item=replace(
            _TOML_SERVER,
            fields={
                "name": Text(empty=False, about="The name of the server."),
                **_TOML_SERVER.fields,
            },
            required=("name",),
        )
    ),
    other=Members(value=_TOML_SERVER, about=SERVER.about),
    about="Servers, as a table by name or as an array of tables with `name`.",
)

# The servers that a model provider brings along.
PROVIDERS = Members(
    value=Table(noun="a provider", fields={SERVER.name: TOML_SERVERS}, unknown="ignore")
)

# A file of another host, given by hand: its own words are understood, the rest only warned of.
GIVEN_SERVER = replace(
    SERVER.shape(
        "--config",
        transport=Text(),
        type=Text(),
        disabled=Truth(),
        env=Members(value=Text(), key=Text(empty=False)),
    ),
    unknown="warning",
    notes={},
)
