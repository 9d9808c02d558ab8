"""The tool by which a kept result is read."""

import msgspec
from msgspec import Raw
from msgspec.json import encode

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.tools import Effects, ToolSpec
from switchboard.results.inlining import READ_RESULT
from switchboard.results.reading import Wanted

PROVIDER = "recall"

_TEXT = {"type": "string"}
_SCHEMA = {
    "type": "object",
    "properties": {
        "handle": _TEXT,
        "path": {**_TEXT, "description": "JSON Pointer: /items/0/name"},
        "lines": {**_TEXT, "description": "10-40"},
        "grep": {**_TEXT, "description": "plain text"},
    },
    "required": ["handle"],
}
_ABOUT = "Read a part of a long result by its handle."
_BORROWING = (
    ' In args of `call_tool`, {"$result": handle, "path": "/body", "patch": [JSON Patch]}'
    " stands for it."
)


def read_spec(*, is_borrowed: bool) -> ToolSpec:
    """The tool; `is_borrowed` where arguments may stand for results as well."""
    return ToolSpec(
        name=READ_RESULT,
        provider=PROVIDER,
        description=_ABOUT + (_BORROWING if is_borrowed else ""),
        input_schema=Raw(encode(_SCHEMA)),
        effects=Effects(read_only=True, destructive=False, idempotent=True, open_world=False),
        check=check_wanted,
        is_needed=True,
    )


def read_wanted(raw: Raw) -> Wanted:
    """What is asked for, or a fault."""
    try:
        return msgspec.json.decode(raw, type=Wanted)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "arguments-invalid",
            str(error).replace(" - at `$.", " at `").replace(" - at `$`", ""),
            hint='send {"handle": "r1-…", "path": "/items/0"}, or lines or grep',
        ) from None


def check_wanted(raw: Raw) -> None:
    """Raises a fault when the arguments make no sense."""
    read_wanted(raw)
