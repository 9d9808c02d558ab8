"""What the bench needs from a transport, and how messages are written."""

import json
from typing import Any, Protocol, cast

Json = dict[str, Any]

encode = json.JSONEncoder(separators=(",", ":")).encode


class LinkLostError(Exception):
    """The other side has gone, or has not answered in time."""


class Link(Protocol):
    """A connection to a row. One user at a time; many requests may be in flight."""

    def send(self, body: bytes, *, method: str, name: str | None = None) -> None:
        """Send one message; `name` is the tool of a call."""
        ...

    def receive(self, seconds: float) -> Json:
        """Wait for the next answer. Raises LinkLostError."""
        ...

    def settle(self) -> None:
        """Wait until nothing of an answered request is still under way."""
        ...

    def agreed(self, version: str) -> None:
        """Note the version of the protocol that both sides use from now on."""
        ...

    def close(self) -> None: ...


def as_object(value: Any) -> Json:
    """A value that should be an object; an empty one where it is none."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A value that should be an array; an empty one where it is none."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def own_answer(request: Json) -> bytes:
    """Answer a request that the server makes: the bench can do nothing but live."""
    answer: Json = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    return encode(answer).encode()
