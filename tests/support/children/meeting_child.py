"""A server that reads together with another, or alone: which of both shows who ran beside whom.

python meeting_child.py FOLDER OWN OTHER
"""

import sys
import time
from functools import partial
from pathlib import Path

from common_tools import READ_ONLY
from tiny_server import Json, TinyServer, Tool, schema

FOLDER, OWN, OTHER = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
# Who is not to meet anybody need not wait as long for it.
LONG_S, SHORT_S = 30.0, 3.0


def meet(patience_s: float, _args: Json) -> str:
    """Wait while the other works too; who never comes was not let in before we had answered."""
    (FOLDER / OWN).touch()
    until = time.monotonic() + patience_s
    while not (FOLDER / OTHER).exists():
        if time.monotonic() > until:
            return f"{OWN} was alone"
        time.sleep(0.02)
    return f"{OWN} met {OTHER}"


if __name__ == "__main__":
    tools = {
        "meet": Tool(partial(meet, LONG_S), "Reads beside another.", schema(), READ_ONLY),
        "change": Tool(partial(meet, SHORT_S), "Changes things beside another.", schema()),
    }
    TinyServer("meeting", tools).run()
