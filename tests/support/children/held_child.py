"""A server whose calls end when a test says so.

python held_child.py FOLDER
"""

import os
import sys
import time
from pathlib import Path

from common_tools import READ_ONLY
from tiny_server import Json, TinyServer, Tool, schema

FOLDER = Path(sys.argv[1])
NAME = schema(("name",), name="string")


def hold(args: Json) -> str:
    """Say that it began, and answer once it may end."""
    (FOLDER / f"{args['name']}.began").touch()
    while not (FOLDER / f"{args['name']}.go").exists():
        time.sleep(0.01)
    return f"held {args['name']}"


def who(_args: Json) -> str:
    return str(os.getpid())


if __name__ == "__main__":
    server = TinyServer("held", {})
    server.tools |= {
        "hold": Tool(hold, "Answers later.", NAME, READ_ONLY),
        "who": Tool(who, "Says which process it is.", schema(), READ_ONLY),
    }
    server.run()
