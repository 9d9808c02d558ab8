"""An MCP server in one file of standard library, for the examples beside it."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Literal, NamedTuple

Json = dict[str, Any]
Framing = Literal["newline", "content-length"]

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


class Wrong(Exception):  # noqa: N818 - what was asked is wrong, not the program
    """The tool cannot do what it was asked; the text says why."""


class Tool(NamedTuple):
    """One tool: what it says of itself, and what it does."""

    work: Callable[..., Any]
    description: str
    properties: dict[str, Json]
    required: tuple[str, ...]
    read_only: bool

    @property
    def schema(self) -> Json:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


class Server:
    """Answers a client on stdin and stdout, one message after the other."""

    def __init__(self, name: str, framing: Framing = "newline") -> None:
        self._name = name
        self._framing = framing
        self._tools: dict[str, Tool] = {}

    def tool(
        self,
        description: str,
        *,
        optional: tuple[str, ...] = (),
        read_only: bool = True,
        **properties: Json,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Offer the function below as a tool."""

        def offer(work: Callable[..., Any]) -> Callable[..., Any]:
            required = tuple(name for name in properties if name not in optional)
            self._tools[work.__name__] = Tool(work, description, properties, required, read_only)
            return work

        return offer

    def run(self) -> None:
        """Serve until the client closes our stdin."""
        for message in _messages(sys.stdin.buffer):
            if "method" in message and "id" in message:
                self._send({"jsonrpc": "2.0", "id": message["id"], **self._answer(message)})

    def _answer(self, message: Json) -> Json:
        params: Json = message.get("params") or {}
        match message["method"]:
            case "initialize":
                asked = params.get("protocolVersion")
                return {
                    "result": {
                        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": self._name, "version": "1"},
                    }
                }
            case "ping":
                return {"result": {}}
            case "tools/list":
                return {"result": {"tools": [_listed(*item) for item in self._tools.items()]}}
            case "tools/call":
                return self._call(str(params.get("name")), params.get("arguments") or {})
            case method:
                return _error(METHOD_NOT_FOUND, f"unknown method: {method}")

    def _call(self, name: str, arguments: Json) -> Json:
        tool = self._tools.get(name)
        if tool is None:
            return _error(INVALID_PARAMS, f"unknown tool: {name}")
        try:
            _check(tool, arguments)
            answer = tool.work(**arguments)
        except (Wrong, ArithmeticError, ValueError) as error:
            return {"result": {"content": [_text(str(error))], "isError": True}}
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return {"result": {"content": [_text(text)]}}

    def _send(self, message: Json) -> None:
        body = json.dumps(message, ensure_ascii=False).encode()
        if self._framing == "content-length":
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        else:
            sys.stdout.buffer.write(body + b"\n")
        sys.stdout.buffer.flush()


def _messages(stream: BinaryIO) -> Iterator[Json]:
    """Every message of a client, in whichever framing it writes."""
    while line := stream.readline():
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            line = stream.read(size)
        if line.strip():
            yield json.loads(line)


def _check(tool: Tool, arguments: Json) -> None:
    for name in tool.required:
        if name not in arguments:
            raise Wrong(f"`{name}` is missing")
    for name, value in arguments.items():
        if name not in tool.properties:
            raise Wrong(f"there is no parameter `{name}`")
        kind = str(tool.properties[name]["type"])
        is_wrong_number = isinstance(value, bool) and kind in {"integer", "number"}
        if not isinstance(value, _TYPES[kind]) or is_wrong_number:
            raise Wrong(f"`{name}` must be of type {kind}")
        choices = tool.properties[name].get("enum")
        if choices and value not in choices:
            raise Wrong(f"`{name}` must be one of {', '.join(choices)}")


def _listed(name: str, tool: Tool) -> Json:
    return {
        "name": name,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": {"readOnlyHint": tool.read_only},
    }


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _error(code: int, message: str) -> Json:
    return {"error": {"code": code, "message": message}}


def string(description: str, **more: Any) -> Json:
    """A parameter that is text."""
    return {"type": "string", "description": description, **more}


def integer(description: str, **more: Any) -> Json:
    return {"type": "integer", "description": description, **more}


def number(description: str, **more: Any) -> Json:
    return {"type": "number", "description": description, **more}


def strings(description: str) -> Json:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def numbers(description: str) -> Json:
    return {"type": "array", "items": {"type": "number"}, "description": description}


def boolean(description: str, **more: Any) -> Json:
    return {"type": "boolean", "description": description, **more}
