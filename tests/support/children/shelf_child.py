"""A child whose state is its process: what was put on its shelf is there, and nowhere else.

python shelf_child.py [NOTES]

NOTES is a file that gets a line for each start and for each thing that was put down.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from common_tools import READ_ONLY
from tiny_server import Json, Refusal, TinyServer, Tool, read_messages, schema

NOTES = Path(sys.argv[1]) if len(sys.argv) > 1 else None
SHELF: dict[str, str] = {}
ADDRESS = "shelf://"


def note(words: str) -> None:
    if NOTES is not None:
        with NOTES.open("a", encoding="utf-8") as file:
            file.write(f"{words} {os.getpid()} {time.time():.3f}\n")


class Shelf(TinyServer):
    def __init__(self) -> None:
        super().__init__("shelf", {})
        two = schema(("name", "value"), name="string", value="string")
        one = schema(("name",), name="string")
        own: dict[str, Tool] = {
            "put": Tool(self.put, "Puts something down.", two, READ_ONLY),
            "take": Tool(self.take_down, "Tells what lies there.", one, READ_ONLY),
            "grow": Tool(self.grow, "Gets another tool.", one, READ_ONLY),
            "steps": Tool(self.steps, "Tells of its progress, and waits.", one, READ_ONLY),
            "ask": Tool(self.ask, "Asks the client.", schema(), READ_ONLY),
            "pid": Tool(self.say_who, "Says who it is.", schema(), READ_ONLY),
        }
        self.tools.update(own)
        self.followed: set[str] = set()
        self.token: Any = None
        self.asked: Any = None
        self.open: Any = None

    def initialize(self, params: Json) -> Json:
        can = {"listChanged": True}
        resources = {"subscribe": True, "listChanged": True}
        return {
            **super().initialize(params),
            "capabilities": {"tools": can, "resources": resources},
        }

    def answer(self, method: str, params: Json, id_: Any) -> Json | None:
        meta: Json = params.get("_meta") or {}
        self.token = meta.get("progressToken")
        self.asked = id_
        match method:
            case "resources/list":
                listed = [{"uri": ADDRESS + name, "name": name} for name in ("first", *SHELF)]
                return {"resources": listed}
            case "resources/read":
                text = SHELF.get(params["uri"].removeprefix(ADDRESS), "")
                return {"contents": [{"uri": params["uri"], "text": text}]}
            case "resources/subscribe":
                self.followed.add(params["uri"])
                return {}
            case "resources/unsubscribe":
                self.followed.discard(params["uri"])
                return {}
            case _:
                return super().answer(method, params, id_)

    def put(self, args: Json) -> str:
        SHELF[args["name"]] = args["value"]
        note(f"put {args['name']}={args['value']}")
        uri = ADDRESS + args["name"]
        if uri in self.followed:
            self.notify("notifications/resources/updated", {"uri": uri})
        return f"put by {os.getpid()}"

    def say_who(self, _args: Json) -> str:
        return str(os.getpid())

    def take_down(self, args: Json) -> str:
        return SHELF.get(args["name"], "nothing")

    def grow(self, args: Json) -> str:
        self.tools[args["name"]] = Tool(self.say_who, "Is new.", schema(), READ_ONLY)
        self.notify("notifications/tools/list_changed")
        return "grown"

    def steps(self, args: Json) -> None:
        """Answer never: until it is called off, or the process ends."""
        note(f"steps {args['name']}")
        step = {"progressToken": self.token, "progress": 1, "message": args["name"]}
        self.notify("notifications/progress", step)

    def notified(self, method: str, params: Json) -> None:
        super().notified(method, params)
        if method == "notifications/cancelled":
            note("cancelled")

    def ask(self, _args: Json) -> str:
        params = {"message": "Which?", "requestedSchema": schema(("which",), which="string")}
        self.send({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params})
        answer: Json = next(m for m in read_messages(sys.stdin.buffer) if m.get("id") == "q")
        if "error" in answer:
            raise Refusal(-32603, f"nobody answered: {answer['error']['message']}")
        return str(answer["result"])


if __name__ == "__main__":
    note("start")
    Shelf().run()
    note("end")
