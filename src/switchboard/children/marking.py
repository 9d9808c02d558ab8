"""What a child says to a client, marked as the child's so that nobody takes it for ours."""

from typing import Any

import msgspec
from msgspec import Raw

from switchboard.core.cleaning import cleaned
from switchboard.core.lines import Input
from switchboard.wire.messages import encode

SERVER_KEY = "switchboard/server"
_OURS = ("switchboard/", "io.modelcontextprotocol/")
_MAX_MESSAGE = 4_000
_MAX_LOGGER = 200

_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_meta = msgspec.json.Decoder(dict[str, Any]).decode
_read_text = msgspec.json.Decoder(str).decode


def marked_input(child: str, method: str, params: Raw) -> Input:
    """A child's question, with its name before its words. Raises MsgspecError."""
    members: dict[str, Any] = dict(_read_members(params or b"{}"))
    members["_meta"] = {**_foreign(members.get("_meta")), SERVER_KEY: child}
    if method == "elicitation/create":
        said = cleaned(_read_text(members.get("message", b'""')), _MAX_MESSAGE)
        members["message"] = f"The server `{child}` asks: {said}"
    return Input(method, Raw(encode(members)))


def marked_log(child: str, params: Raw) -> tuple[str, bytes]:
    """The level of a child's log message, and the message under its name. Raises MsgspecError."""
    members: dict[str, Any] = dict(_read_members(params))
    level = _read_text(members.get("level", b'"info"'))
    logger = cleaned(_read_text(members["logger"]), _MAX_LOGGER) if "logger" in members else ""
    members["logger"] = f"{child}/{logger}" if logger else child
    members.pop("_meta", None)
    return level, encode(members)


def _foreign(raw: Raw | None) -> dict[str, Any]:
    """Members that are the child's to set: none in our name, none that steers the protocol."""
    if raw is None:
        return {}
    return {key: value for key, value in _read_meta(raw).items() if not key.startswith(_OURS)}
