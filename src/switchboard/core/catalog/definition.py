"""What a tool says of itself, as it is pinned, compared and written down."""

import hashlib
from functools import lru_cache
from typing import Any, cast

import msgspec
from msgspec import Raw

from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.text.strict import canonical, read_strictly

# Members of a listing that `_opened` has in our own words.
_OPENED = frozenset({"name", "title", "description", "inputSchema", "outputSchema", "annotations"})
_HINTS = frozenset({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})


def definition_of(tool: ToolSpec) -> dict[str, Any]:
    """Everything that a tool says of itself."""
    more = _more(tool.listed)
    return {**_opened(tool), "more": more} if more else _opened(tool)


def _opened(tool: ToolSpec) -> dict[str, Any]:
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


def older_hash(tool: ToolSpec) -> str:
    """The digest as it was made before every member of a listing counted."""
    return sha256_of(_opened(tool))


def sha256_of(value: Any) -> str:
    """The digest of a value, as JSON whose keys are sorted."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def _more(listed: Raw | None) -> Any:
    """What a listing says beyond that; nothing for most tools."""
    members: Any = _json(listed) if listed is not None else None
    if not isinstance(members, dict):
        return members
    entry = cast("dict[str, Any]", members)
    more = {key: value for key, value in entry.items() if key not in _OPENED}
    said: Any = entry.get("annotations")
    if isinstance(said, dict):
        words = cast("dict[str, Any]", said)
        said = {key: value for key, value in words.items() if key not in _HINTS}
    if said:
        more["annotations"] = said
    return more


def _json(raw: Raw) -> Any:
    text = bytes(raw)
    try:
        return msgspec.json.decode(canonical(read_strictly(text)))
    except (Fault, msgspec.MsgspecError):
        # A schema with two readings stands for itself, down to the last byte.
        return text.decode("utf-8", "backslashreplace")
