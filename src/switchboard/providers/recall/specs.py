"""The tool by which a kept result is read."""

import msgspec
from msgspec import Raw
from msgspec.json import encode

from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.faults import Fault, FaultCode
from switchboard.results.inlining import READ_RESULT
from switchboard.results.reading import Wanted

PROVIDER = "recall"

_TEXT = {"type": "string"}
_SCHEMA = {
    "type": "object",
    "properties": {
        "handle": _TEXT,
        "path": _TEXT,
        "lines": _TEXT,
        "grep": _TEXT,
    },
    "required": ["handle"],
}
# Every listing pays for these words.
_ABOUT = "Read part of a result: path /items/0, lines 10-40 or grep text."
_BORROWING = ' Args of `call_tool` may hold {"$result": handle, path, patch: [JSON Patch]}.'


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
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "arguments-invalid",
            str(error).replace(" - at `$.", " at `").replace(" - at `$`", ""),
            hint='send {"handle": "r1-…", "path": "/items/0"}, or lines or grep',
        ) from None


def check_wanted(raw: Raw) -> None:
    """Raises a fault when the arguments make no sense."""
    read_wanted(raw)
