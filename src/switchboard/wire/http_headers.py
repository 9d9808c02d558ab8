"""The headers of MCP over HTTP, and how a value that no header can hold is written in one."""

import base64
import binascii
from typing import Final

from switchkit.patterns import pattern

PROTOCOL_VERSION: Final = "mcp-protocol-version"
SESSION_ID: Final = "mcp-session-id"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
LAST_EVENT_ID: Final = "last-event-id"

JSON_TYPE: Final = "application/json"
SSE_TYPE: Final = "text/event-stream"

# Methods whose `Mcp-Name` repeats a member of their parameters, and which member that is.
NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}

_PLAIN = pattern(r"[\x21-\x7E]([\x20-\x7E]*[\x21-\x7E])?")
_WRAPPED = pattern(r"=\?base64\?(?P<payload>.*)\?=")


def header_value(text: str) -> str:
    """The text as a header carries it: as it is, or as base64 between two marks."""
    if _PLAIN.fullmatch(text) and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def text_of(value: str) -> str | None:
    """The text that a header's value stands for; None when it is broken."""
    if not value.isascii():
        return None
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped["payload"], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def media_type(content_type: str) -> str:
    """The type alone, without parameters."""
    return content_type.partition(";")[0].strip().lower()
