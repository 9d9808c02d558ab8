"""What a tool says of itself, as it is pinned, compared and written down."""

import hashlib
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from switchboard.core.faults import Fault
from switchboard.core.strict import canonical, read_strictly
from switchboard.core.tools import ToolSpec


def definition_of(tool: ToolSpec) -> dict[str, Any]:
    """Everything that a tool says of itself."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": _json(tool.input_schema),
        "output_schema": None if tool.output_schema is None else _json(tool.output_schema),
        "effects": msgspec.to_builtins(tool.effects),
    }


# Tools are the same object as long as they are the same tool, and one is asked for by every call.
@lru_cache(maxsize=1_024)
def definition_hash(tool: ToolSpec) -> str:
    """The digest of a definition. The order of keys in a schema makes no difference."""
    return sha256_of(definition_of(tool))


def sha256_of(value: Any) -> str:
    """The digest of a value, as JSON whose keys are sorted."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def _json(raw: Raw) -> Any:
    text = bytes(raw)
    try:
        return msgspec.json.decode(canonical(read_strictly(text)))
    except (Fault, msgspec.MsgspecError):
        # A schema with two readings stands for itself, down to the last byte.
        return text.decode("utf-8", "backslashreplace")
