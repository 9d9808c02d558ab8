"""The arguments of a suite tool: its schema, and a reader that accepts exactly what it allows."""

from typing import Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.core.faults import Fault, FaultCode

SUITE_SCHEMA = Raw(
    encode(
        {
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["introspect", "call"]},
                "subtool": {"type": "string"},
                "args": {"type": "object"},
            },
            "required": ["action"],
        }
    )
)

_NO_ARGS = Raw(b"{}")


class SuiteArguments(Struct, frozen=True):
    """What a client asks of a suite. The subtool's own arguments stay unopened."""

    action: Literal["introspect", "call"]
    subtool: str = ""
    args: Raw = _NO_ARGS


_read = msgspec.json.Decoder(SuiteArguments).decode


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


def is_pattern(name: str) -> bool:
    """Whether it stands for several names."""
    return "*" in name
