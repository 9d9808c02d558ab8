"""The smallest MCP server that the children of the tests are made of. Standard library only.

It answers one message after the other, in the handshake era unless told otherwise. A subclass or a
caller changes one habit at a time, so each child shows one kind of behaviour.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

Json = dict[str, Any]
# A tool returns text, or a whole result; None leaves the call without an answer.
Handler = Callable[[Json], "str | Json | None"]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNSUPPORTED_VERSION = -32022


class Refusal(Exception):  # noqa: N818 - an answer, not a defect
    """A JSON-RPC error as the answer to a request."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class Tool(NamedTuple):
    handler: Handler
    description: str
    schema: Json
    annotations: Json | None = None

    def listed(self, name: str) -> Json:
        shown: Json = {
            "name": name,
            "description": self.description,
            "inputSchema": self.schema,
        }
        if self.annotations is not None:
            shown["annotations"] = self.annotations
        return shown


def schema(required: tuple[str, ...] = (), **properties: str) -> Json:
    """Write the schema of an object whose properties have plain types."""
    typed = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": typed, "required": list(required)}


def read_messages(stream: BinaryIO) -> Iterator[Json]:
    """Read messages in either framing until the stream ends."""
    while line := stream.readline():
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            yield json.loads(stream.read(size))
        elif line.strip():
            yield json.loads(line)


def newline_frame(message: Json) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def content_length_frame(message: Json) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def pretty_content_length_frame(message: Json) -> bytes:
    body = json.dumps(message, indent=2).encode() + b"\n"
    return b"Content-Length: %d\r\nContent-Type: application/json\r\n\r\n%b" % (len(body), body)


class TinyServer:
    """A server with tools, on stdin and stdout."""

    def __init__(self, name: str, tools: dict[str, Tool]) -> None:
        self.name = name
        self.tools = tools
        self.frame: Callable[[Json], bytes] = newline_frame
        self.received: list[str] = []
        self.cancelled: list[Any] = []
        self.page_size: int | None = None
        self.instructions = f"{name} serves the tests."

    def run(self, stream: BinaryIO = sys.stdin.buffer) -> None:
        for message in read_messages(stream):
            self.take(message)

    def take(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            return
        self.received.append(method)
        if "id" not in message:
            self.notified(method, message.get("params") or {})
            return
        try:
            result = self.answer(method, message.get("params") or {}, message["id"])
        except Refusal as refusal:
            self.send({"jsonrpc": "2.0", "id": message["id"], "error": refusal.error})
            return
        if result is not None:
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def send(self, message: Json) -> None:
        self.write(self.frame(message))

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def notify(self, method: str, params: Json | None = None) -> None:
        message: Json = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def notified(self, method: str, params: Json) -> None:
        if method == "notifications/cancelled":
            self.cancelled.append(params.get("requestId"))

    def answer(self, method: str, params: Json, id_: Any) -> Json | None:
        del id_
        match method:
            case "initialize":
                return self.initialize(params)
            case "ping":
                return {}
            case "tools/list":
                return self.list_tools(params)
            case "tools/call":
                return self.call_tool(params)
            case _:
                raise Refusal(METHOD_NOT_FOUND, f"Method not found: {method}")

    def initialize(self, params: Json) -> Json:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": self.name, "version": "1.0.0"},
            "instructions": self.instructions,
        }

    def list_tools(self, params: Json) -> Json:
        listed = [tool.listed(name) for name, tool in self.tools.items()]
        if self.page_size is None:
            return {"tools": listed}
        start = int(params.get("cursor") or 0)
        end = start + self.page_size
        page: Json = {"tools": listed[start:end]}
        if end < len(listed):
            page["nextCursor"] = str(end)
        return page

    def call_tool(self, params: Json) -> Json | None:
        tool = self.tools.get(params["name"])
        if tool is None:
            raise Refusal(INVALID_PARAMS, f"Unknown tool: {params['name']}")
        outcome = tool.handler(params.get("arguments") or {})
        if isinstance(outcome, str):
            return {"content": [{"type": "text", "text": outcome}]}
        return outcome


class ModernServer(TinyServer):
    """A server of the era without a handshake; every request names its version."""

    def answer(self, method: str, params: Json, id_: Any) -> Json | None:
        meta: Json = params.get("_meta") or {}
        if method == "initialize" or meta.get(META + "protocolVersion") != MODERN_VERSION:
            supported = {"supported": [MODERN_VERSION], "requested": params.get("protocolVersion")}
            raise Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", supported)
        if META + "clientCapabilities" not in meta:
            raise Refusal(INVALID_PARAMS, "A request names the capabilities of its client")
        if method == "server/discover":
            result: Json | None = {
                "supportedVersions": [MODERN_VERSION],
                "capabilities": {"tools": {"listChanged": True}},
                "instructions": self.instructions,
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {META + "serverInfo": {"name": self.name, "version": "1.0.0"}},
            }
        elif method == "subscriptions/listen":
            acknowledged: Json = {"notifications": params.get("notifications") or {}}
            acknowledged["_meta"] = {META + "subscriptionId": id_}
            self.notify("notifications/subscriptions/acknowledged", acknowledged)
            return None
        else:
            result = super().answer(method, params, id_)
        if result is None:
            return None
        if method == "tools/list":
            result |= {"ttlMs": 0, "cacheScope": "private"}
        return {"resultType": "complete", **result}
