"""The tools by which a model finds others and calls them."""

from collections.abc import Iterator

from msgspec import Raw
from msgspec.json import encode

from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.providers.find.arguments import checked_when_read

PROVIDER = "find"
FIND, CALL, READ = "find_tool", "call_tool", "call_read_only_tool"

_READS = Effects(read_only=True, destructive=False, idempotent=True)

# Hosts keep these in view. One that does not all the same finds them by what people ask for.
_HINT = "search discover use any tool of any MCP server"

_FIND_SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "what the tool should do, or its name"},
        "server": {"type": "string"},
        "limit": {"type": "integer"},
        "detail": {"type": "string", "enum": ["schema"]},
    },
    "required": ["query"],
}
_TEXT, _OBJECT = {"type": "string"}, {"type": "object"}
_CALLS = {"type": "array", "items": _OBJECT}
_CALL_SCHEMA = {
    "type": "object",
    "properties": {
        "tool": {**_TEXT, "description": "server.tool"},
        "args": _OBJECT,
        "calls": {
            **_CALLS,
            "description": "several independent calls: [{tool, args}]",
        },
    },
}
# The same again: what each is for is told once.
_READ_SCHEMA = {
    "type": "object",
    "properties": {"tool": _TEXT, "args": _OBJECT, "calls": _CALLS},
}


def find_specs() -> Iterator[ToolSpec]:
    """Every tool of the provider."""
    yield ToolSpec(
        name=FIND,
        provider=PROVIDER,
        description=(
            "Find tools by what they do, one step of a task at a time. Answers signatures for"
            f" `{CALL}`."
        ),
        input_schema=Raw(encode(_FIND_SCHEMA)),
        effects=_READS,
        check=checked_when_read,
        search_hint=_HINT,
    )
    yield ToolSpec(
        name=CALL,
        provider=PROVIDER,
        description=f"Call a tool that `{FIND}` found.",
        input_schema=Raw(encode(_CALL_SCHEMA)),
        check=checked_when_read,
        search_hint=_HINT,
    )
    yield ToolSpec(
        name=READ,
        provider=PROVIDER,
        description=f"`{CALL}` for tools that only read.",
        input_schema=Raw(encode(_READ_SCHEMA)),
        effects=_READS,
        check=checked_when_read,
        search_hint=_HINT,
    )
