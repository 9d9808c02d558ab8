"""Tools that most children of the tests offer."""

import json
import os
import sys
from pathlib import Path

from tiny_server import METHOD_NOT_FOUND, Json, Refusal, TinyServer, Tool, schema

READ_ONLY = {"readOnlyHint": True}
NUMBERS = schema(("a", "b"), a="number", b="number")
# A PNG of one pixel.
DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)


def echo(args: Json) -> str:
    return f"echo: {args['text']}"


def add(args: Json) -> Json:
    total = args["a"] + args["b"]
    return {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"sum": total}}


def fail(args: Json) -> Json:
    return {
        "content": [{"type": "text", "text": f"failed: {args.get('why', '')}"}],
        "isError": True,
    }


def refuse(args: Json) -> Json:
    raise Refusal(METHOD_NOT_FOUND, "refused by the child", {"why": args.get("why")})


def picture(_args: Json) -> Json:
    link = {"type": "resource_link", "uri": "demo://dot", "name": "dot"}
    return {"content": [{"type": "image", "data": DOT, "mimeType": "image/png"}, link]}


def report(_args: Json) -> str:
    facts = {
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "pgid": os.getpgid(0),
        "cwd": str(Path.cwd()),
        "argv": sys.argv,
        "env": dict(os.environ),
    }
    return json.dumps(facts)


def stall(_args: Json) -> None:
    """Leave the call without an answer for ever; the child goes on serving others."""


def history(server: TinyServer) -> Tool:
    """Make the tool that tells what the child has received, and which calls were cancelled."""

    def tell(_args: Json) -> str:
        return json.dumps({"received": server.received, "cancelled": server.cancelled})

    return Tool(tell, "Tells what this server has received.", schema(), READ_ONLY)


def common_tools() -> dict[str, Tool]:
    return {
        "echo": Tool(
            echo,
            "Says the given text again. Use it to see that a call came through and what it "
            "carried; the text comes back unchanged after a short prefix, whatever characters it "
            "is made of.",
            schema(("text",), text="string"),
            READ_ONLY,
        ),
        "add": Tool(
            add, "Adds two numbers.", schema(("a", "b"), a="number", b="number"), READ_ONLY
        ),
        "fail": Tool(fail, "Always fails, with the given reason.", schema(why="string")),
        "refuse": Tool(refuse, "Answers with a JSON-RPC error.", schema(why="string")),
        "picture": Tool(picture, "Gives an image and a link.", schema(), READ_ONLY),
        "report": Tool(report, "Tells pid, folder and environment.", schema(), READ_ONLY),
        "stall": Tool(stall, "Never answers.", schema()),
    }


def common_server(name: str, kind: type[TinyServer] = TinyServer) -> TinyServer:
    server = kind(name, common_tools())
    server.tools["history"] = history(server)
    return server
