"""The arguments of a suite tool: its schema, and a reader that accepts exactly what it allows."""

from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.core.faults import Fault, FaultCode

_PROPERTIES = {
    "action": {"type": "string", "enum": ["introspect", "call"]},
    "subtool": {"type": "string"},
    "args": {"type": "object"},
}
_WORKTREE = {
    "type": "string",
    "description": "Another git worktree than the one you work in: its branch, name or path.",
}


def _schema(properties: dict[str, Any]) -> Raw:
    return Raw(encode({"type": "object", "properties": properties, "required": ["action"]}))


SUITE_SCHEMA = _schema(_PROPERTIES)
# Of a server that follows its callers into their worktrees.
FOLLOWING_SCHEMA = _schema({**_PROPERTIES, "worktree": _WORKTREE})

_NO_ARGS = Raw(b"{}")


class SuiteArguments(Struct, frozen=True):
    """What a client asks of a suite. The subtool's own arguments stay unopened."""

    action: Literal["introspect", "call"]
    subtool: str = ""
    args: Raw = _NO_ARGS
    # Of a server that follows, the worktree that is meant; others refuse it.
    worktree: str = ""


class _Detail(Struct, frozen=True):
    detail: str = ""


_read = msgspec.json.Decoder(SuiteArguments).decode
_read_detail = msgspec.json.Decoder(_Detail).decode


def read_arguments(raw: Raw) -> SuiteArguments:
    """The arguments, or an `invalid_argument` fault."""
    try:
        arguments = _read(raw)
    except msgspec.MsgspecError as error:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "arguments-invalid",
            str(error).replace(" - at `$.", " at `").replace(" - at `$`", ""),
            hint='send {"action": "introspect"} or {"action": "call", "subtool": …, "args": {…}}',
        ) from None
    if not bytes(memoryview(arguments.args)[:1]) == b"{":
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "arguments-invalid",
            "`args` must be an object",
            hint="send the subtool's arguments as a JSON object, not as text",
        )
    return arguments


def checked_when_narrowed(raw: Raw) -> None:
    """Nothing: a suite reads its arguments when it is narrowed, and reading is checking."""
    del raw


def wanted_names(subtool: str) -> list[str]:
    """The names that an introspection asks for: one, or several with commas between them."""
    return [name for name in (each.strip() for each in subtool.split(",")) if name]


def wants_schemas(asked: SuiteArguments) -> bool:
    """Whether an introspection asks for whole schemas, as it may of `find_tool` too.

    The schema of a suite is settled for good, and an introspection has no other use for `args`.
    """
    try:
        return _read_detail(asked.args).detail == "schema"
    except msgspec.MsgspecError:
        return False


def is_pattern(name: str) -> bool:
    """Whether it stands for several names."""
    return "*" in name
