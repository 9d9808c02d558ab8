"""A server whose calls write a line, and are answered when a file says so.

python posting_child.py FOLDER [modern] [deaf]

Every line of FOLDER/ledger is something that was done. A call `post` or `look` is answered once
there is FOLDER/go-TEXT. One that is cancelled meanwhile is not answered, unless the server is deaf.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from common_tools import READ_ONLY
from tiny_server import Json, ModernServer, TinyServer, Tool, schema

FOLDER = Path(sys.argv[1])
TEXT = schema(("text",), text="string", more="object")
WRITING = threading.Lock()


def noted(line: str) -> None:
    with WRITING, (FOLDER / "ledger").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def write(args: Json) -> str:
    noted(f"write {args['text']}")
    return f"written: {args['text']}"


def answered_later(args: Json) -> str:
    raise AssertionError(f"a thread answers this one: {args}")


class Posting:
    """What a server of either era does beside its own."""

    tools: dict[str, Tool]
    cancelled: list[Any]
    send: Any

    def add_tools(self) -> None:
        self.tools |= {
            "post": Tool(answered_later, "Writes, and answers later.", TEXT),
            "look": Tool(answered_later, "Looks, and answers later.", TEXT, READ_ONLY),
            "write": Tool(write, "Writes a line.", TEXT),
            "token": Tool(answered_later, "Tells a secret, later.", TEXT),
        }

    def later(self, params: Json, id_: Any) -> None:
        name, text = params["name"], params["arguments"]["text"]
        noted(f"{name} {text}")
        threading.Thread(target=self.post, args=(name, text, id_), daemon=True).start()

    def post(self, name: str, text: str, id_: Any) -> None:
        while not (FOLDER / f"go-{text}").exists():
            time.sleep(0.01)
            if id_ in self.cancelled and "deaf" not in sys.argv:
                noted(f"cancelled {text}")
                return
        said = f"{name}ed: {text}" if name != "token" else os.environ["POST_TOKEN"]
        result: Json = {"content": [{"type": "text", "text": said}]}
        if "modern" in sys.argv:
            result["resultType"] = "complete"
        with WRITING:
            self.send({"jsonrpc": "2.0", "id": id_, "result": result})


class HandshakePosting(Posting, TinyServer):
    """Of the era with a handshake."""

    def answer(self, method: str, params: Json, id_: Any) -> Json | None:
        if method == "tools/call" and params["name"] != "write":
            self.later(params, id_)
            return None
        return TinyServer.answer(self, method, params, id_)


class ModernPosting(Posting, ModernServer):
    """Of the other."""

    def answer(self, method: str, params: Json, id_: Any) -> Json | None:
        if method == "tools/call" and params["name"] != "write":
            self.later(params, id_)
            return None
        return ModernServer.answer(self, method, params, id_)


if __name__ == "__main__":
    kind = ModernPosting if "modern" in sys.argv else HandshakePosting
    server = kind("post", {})
    server.add_tools()
    server.run()
