"""A child that says exactly what it is told to. Its argument maps a method to a list of texts.

When a message with that method comes, the texts are written in one piece, with `$id` replaced by
the message's id. The text `exit` ends the process with status 9, `hush` says nothing at all. Every
message that came is appended, one a line, to the file that a second argument names.
"""

import json
import sys
from pathlib import Path
from typing import Any

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "scripted", "version": "1"},
}
USUAL = {
    "initialize": ['{"jsonrpc":"2.0","id":$id,"result":', json.dumps(HELLO), "}\n"],
    "tools/list": ['{"jsonrpc":"2.0","id":$id,"result":{"tools":[]}}\n'],
}


def main() -> None:
    script: dict[str, list[str]] = {**USUAL, **json.loads(sys.argv[1])}
    notes = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if notes is not None:
            with notes.open("a", encoding="utf-8") as file:
                file.write(line)
        unknown = ['{"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"unknown"}}\n']
        is_request = "method" in message and "id" in message
        texts = script.get(message.get("method", ""), unknown if is_request else [])
        said = "".join(text for text in texts if text not in {"exit", "hush"})
        sys.stdout.write(said.replace("$id", json.dumps(message.get("id"))))
        sys.stdout.flush()
        if "exit" in texts:
            sys.exit(9)


if __name__ == "__main__":
    main()
