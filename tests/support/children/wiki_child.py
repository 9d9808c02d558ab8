"""A server with pages that are too long for a model, and a tool that takes them back.

python wiki_child.py SAVED
"""

import json
import sys
from pathlib import Path

from common_tools import DOT
from tiny_server import Json, TinyServer, Tool, schema

SAVED = Path(sys.argv[1])
OURS = {"readOnlyHint": True, "openWorldHint": False}
STRANGE = {"readOnlyHint": True, "openWorldHint": True}
TEXT = {"type": "string"}


def page(args: Json) -> Json:
    sections = [{"id": n, "title": f"Section {n}"} for n in range(args.get("sections", 600))]
    found: Json = {"title": "Home", "body": sections, "note": args.get("note", "")}
    return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}


def log(args: Json) -> str:
    return "\n".join(f"{n} all is well here" for n in range(args.get("lines", 2_000)))


def fail(_args: Json) -> Json:
    return {"content": [{"type": "text", "text": log({})}], "isError": True}


def photo(_args: Json) -> Json:
    image = {"type": "image", "data": DOT, "mimeType": "image/png"}
    return {"content": [{"type": "text", "text": log({})}, image]}


def save(args: Json) -> str:
    SAVED.write_text(json.dumps(args), "utf-8")
    return "saved"


SAVE_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "body": {"type": "array", "items": {"type": "object"}},
        "title": TEXT,
        "number": {"type": "integer"},
        "text": TEXT,
        "more": {"type": "object"},
        "pin": {"type": "string", "writeOnly": True},
    },
}
ODD_SCHEMA: Json = {
    "type": "object",
    "properties": {"filter": {"type": "object", "properties": {"$result": TEXT}}},
}


class Wiki(TinyServer):
    """It says what structure a page has."""

    def list_tools(self, params: Json) -> Json:
        listed = super().list_tools(params)
        for tool in listed["tools"]:
            if tool["name"] == "page":
                tool["outputSchema"] = {"type": "object", "required": ["title", "body"]}
        return listed


if __name__ == "__main__":
    Wiki(
        "wiki",
        {
            "page": Tool(page, "Gives a page.", schema(sections="integer", note="string"), OURS),
            "log": Tool(log, "Gives a log.", schema(lines="integer"), OURS),
            "browse": Tool(log, "Reads what strangers wrote.", schema(lines="integer"), STRANGE),
            "fail": Tool(fail, "Fails at length.", schema(), OURS),
            "photo": Tool(photo, "Gives a picture and a log.", schema(), OURS),
            "save": Tool(save, "Saves a page.", SAVE_SCHEMA),
            "odd": Tool(save, "Has a parameter of an odd name.", ODD_SCHEMA, OURS),
        },
    ).run()
