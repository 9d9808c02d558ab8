"""A child with many tools: newline JSON-RPC on stdin and stdout, as small as can be.

python many.py NAME COUNT
"""

import json
import sys
from typing import Any

Json = dict[str, Any]


def _tool(name: str) -> Json:
    text = {"type": "string", "description": "What to look for, in plain words."}
    number = {"type": "integer", "minimum": 0, "description": "How many to give at most."}
    return {
        "name": name,
        "description": "Finds what is asked for and gives it in the order of its worth.",
        "inputSchema": {
            "type": "object",
            "properties": {"query": text, "limit": number},
            "required": ["query"],
        },
    }


def _result(method: str, params: Json) -> Json | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": sys.argv[1], "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [_tool(f"{sys.argv[1]}_{each}") for each in range(int(sys.argv[2]))]}
    return None


def main() -> None:
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message: Json = json.loads(line)
        if "id" not in message:
            continue
        answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
        result = _result(message["method"], message.get("params") or {})
        if result is None:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        else:
            answer["result"] = result
        out.write(json.dumps(answer).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
