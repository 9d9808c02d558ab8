"""The child that every row relays to: newline JSON-RPC on stdin and stdout, as small as can be.

`echo` answers with its message, `sized` with a text of so many bytes.
"""

import json
import sys
from typing import Any

Json = dict[str, Any]

_NUMBER = {"type": "integer", "minimum": 0}
_TOOLS: list[Json] = [
    {
        "name": "echo",
        "description": "Answers with the message that it is given.",
        "inputSchema": {
            "type": "object",
            "properties": {"message": {"type": "string", "description": "Any text."}},
            "required": ["message"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "sized",
        "description": "Answers with a text of so many bytes.",
        "inputSchema": {
            "type": "object",
            "properties": {"bytes": {**_NUMBER, "description": "The length of the text."}},
            "required": ["bytes"],
        },
        # Without this word a gate asks a person first, and nobody sits before a bench.
        "annotations": {"readOnlyHint": True},
    },
]


def _text(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


def _called(params: Json) -> Json | None:
    arguments: Json = params.get("arguments") or {}
    if params.get("name") == "echo":
        return _text(arguments["message"])
    if params.get("name") == "sized":
        return _text("x" * arguments["bytes"])
    return None


def _result(method: str, params: Json) -> Json | None:
    if method == "tools/call":
        return _called(params)
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bench-child", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": _TOOLS}
    return {} if method == "ping" else None


def main() -> None:
    encode = json.JSONEncoder(separators=(",", ":")).encode
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message: Json = json.loads(line)
        method, ident = message.get("method"), message.get("id")
        if method is None or ident is None:
            continue
        answer: Json = {"jsonrpc": "2.0", "id": ident}
        result = _result(method, message.get("params") or {})
        if result is None:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        else:
            answer["result"] = result
        out.write(encode(answer).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
