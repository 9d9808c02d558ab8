"""A server whose every call leaves one line behind: `judged_child.py LEDGER`.

`note` and `linger` claim to only read, so nobody is asked about them; `write` asks.
"""

import os
import sys
import time
from pathlib import Path

from common_tools import READ_ONLY
from tiny_server import Json, TinyServer, Tool, schema

LEDGER = Path(sys.argv[1])
LINGER_S = 0.2
TEXT = schema(("text",), text="string")


def note(args: Json) -> str:
    """Write a line with one call of the kernel, so that no two of them mingle."""
    line = f"{args['text']} {os.getpid()} {time.time()}\n".encode()
    file = os.open(LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        assert os.write(file, line) == len(line)
    finally:
        os.close(file)
    return f"noted: {args['text']}"


def linger(args: Json) -> str:
    """Take a while before the line is written."""
    time.sleep(LINGER_S)
    return note(args)


class Judged(TinyServer):
    """One file, three ways to write into it."""

    def __init__(self) -> None:
        super().__init__("judged", {})
        self.tools |= {
            "note": Tool(note, "Notes a line.", TEXT, READ_ONLY),
            "linger": Tool(linger, "Notes a line later.", TEXT, READ_ONLY),
            "write": Tool(note, "Writes a line.", TEXT),
        }


if __name__ == "__main__":
    Judged().run()
