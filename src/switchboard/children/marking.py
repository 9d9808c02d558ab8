"""What a child says to a client, marked as the child's so that nobody takes it for ours."""

from typing import Any, cast

import msgspec
from msgspec import Raw

from switchboard.core.cleaning import cleaned
from switchboard.core.lines import Input
from switchboard.wire.messages import encode

SERVER_KEY = "switchboard/server"
_OURS = ("switchboard/", "io.modelcontextprotocol/")
_LABELS = ("title", "description")
_MAX_MESSAGE = 4_000
_MAX_LOGGER = 200

_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_meta = msgspec.json.Decoder(dict[str, Any]).decode
_read_any = msgspec.json.Decoder().decode
_read_text = msgspec.json.Decoder(str).decode


def marked_input(child: str, method: str, params: Raw) -> Input:
    """A child's question, with its name before its words. Raises MsgspecError."""
    members: dict[str, Any] = dict(_read_members(params or b"{}"))
    members["_meta"] = {**_foreign(members.get("_meta")), SERVER_KEY: child}
    if method == "elicitation/create":
        said = cleaned(_read_text(members.get("message", b'""')), _MAX_MESSAGE)
        members["message"] = f"The server `{child}` asks: {said}"
        if "requestedSchema" in members:
            members["requestedSchema"] = _legible(_read_any(members["requestedSchema"]))
    return Input(method, Raw(encode(members)))


def marked_log(child: str, params: Raw) -> tuple[str, bytes]:
    """The level of a child's log message, and the message under its name. Raises MsgspecError."""
    members: dict[str, Any] = dict(_read_members(params))
    level = _read_text(members.get("level", b'"info"'))
    logger = cleaned(_read_text(members["logger"]), _MAX_LOGGER) if "logger" in members else ""
    members["logger"] = f"{child}/{logger}" if logger else child
    members.pop("_meta", None)
    return level, encode(members)


def _legible(schema: Any) -> Any:
    """A form whose labels show what they say; names and values are the child's to read again."""
    if isinstance(schema, list):
        return [_legible(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: cleaned(value, _MAX_MESSAGE)
        if key in _LABELS and isinstance(value, str)
        else _legible(value)
        for key, value in cast("dict[str, Any]", schema).items()
    }


def _foreign(raw: Raw | None) -> dict[str, Any]:
    """Members that are the child's to set: none in our name, none that steers the protocol."""
    if raw is None:
        return {}
    return {key: value for key, value in _read_meta(raw).items() if not key.startswith(_OURS)}
