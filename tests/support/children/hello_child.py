"""A server of one tool, which says which file it is. The twin of `hello_child.cjs`, for Python."""

import json
import sys
from typing import Any


def answered(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Give what belongs into the answer."""
    known: dict[str, dict[str, Any]] = {
        "initialize": {
            "protocolVersion": params.get("protocolVersion", ""),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hello", "version": "1.0.0"},
        },
        "ping": {},
        "tools/list": {"tools": [{"name": "where", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": f"from {__file__}"}]},
    }
    if method in known:
        return {"result": known[method]}
    return {"error": {"code": -32601, "message": "no such method"}}


def main() -> None:
    """Answer one request after the other."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            told = answered(asked["method"], asked.get("params") or {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}) + "\n")
            sys.stdout.flush()
