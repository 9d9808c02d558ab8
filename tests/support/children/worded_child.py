"""A child whose tools are described by `words.txt` of its folder, as that is when it starts.

Its tool `look` only reads, and `keep` writes. Standard library only.
"""

from pathlib import Path

from tiny_server import Json, TinyServer, Tool, schema

WORDS = Path("words.txt").read_text("utf-8").strip()


def look(_args: Json) -> str:
    return "seen"


def keep(args: Json) -> str:
    return f"kept {args.get('text')}"


TOOLS = {
    "look": Tool(look, WORDS, schema(), {"readOnlyHint": True}),
    "keep": Tool(keep, WORDS, schema(text="string")),
}

if __name__ == "__main__":
    TinyServer("worded", TOOLS).run()
