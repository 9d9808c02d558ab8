"""A child whose tools are described by `words.txt` of its folder, as that is when it starts.

Its tool `look` only reads, and `keep` writes. Standard library only.
"""

from pathlib import Path

from tiny_server import TinyServer, Tool, schema

WORDS = Path("words.txt").read_text("utf-8").strip()
TOOLS = {
    "look": Tool(lambda _: "seen", WORDS, schema(), {"readOnlyHint": True}),
    "keep": Tool(lambda args: f"kept {args.get('text')}", WORDS, schema(text="string")),
}

if __name__ == "__main__":
    TinyServer("worded", TOOLS).run()
