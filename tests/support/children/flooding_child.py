"""A server whose tool answers with as many letters as it is told: `flooding_child.py COUNT`."""

import sys

from common_tools import READ_ONLY
from tiny_server import Json, TinyServer, Tool, schema

COUNT = int(sys.argv[1])


def flood(_args: Json) -> str:
    return "x" * COUNT


class Flooding(TinyServer):
    """It says more than anybody wants to hear."""

    def __init__(self) -> None:
        super().__init__("flood", {})
        self.tools["flood"] = Tool(flood, "Says a lot.", schema(), READ_ONLY)


if __name__ == "__main__":
    Flooding().run()
