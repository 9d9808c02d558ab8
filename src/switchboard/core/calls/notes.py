"""Words of ours beside the result of a tool, where the model of any host reads them."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

_STRUCTURED = "structuredContent"


def with_note(result: Mapping[str, Any], note: str, *, is_promised: bool) -> dict[str, Any]:
    """The result with a note behind all that it holds.

    Hosts give their model the structured content, and then none of the texts. So its text takes
    its place, unless it `is_promised` by an output schema that the client was shown.
    """
    found: Any = result.get("content")
    content = cast("list[Any]", found) if isinstance(found, list) else []
    told = {**result, "content": [*content, {"type": "text", "text": note}]}
    if _STRUCTURED not in result or is_promised:
        return told
    structured: Any = told.pop(_STRUCTURED)
    if not any(_says(block, structured) for block in content):
        text = msgspec.json.encode(structured).decode()
        told["content"] = [{"type": "text", "text": text}, *told["content"]]
    return told


def _says(block: Any, structured: Any) -> bool:
    """Whether a text is the same, as servers repeat it for clients of before."""
    text: Any = cast("dict[str, Any]", block).get("text") if isinstance(block, dict) else None
    try:
        return isinstance(text, str) and msgspec.json.decode(text) == structured
    except (msgspec.MsgspecError, RecursionError):
        return False
