"""A server whose calls take as long as they are told to."""

import time

from common_tools import common_server
from tiny_server import Json, Tool, schema


def wait(args: Json) -> str:
    time.sleep(args["seconds"])
    return f"waited {args['seconds']} s"


if __name__ == "__main__":
    server = common_server("slow")
    server.tools["wait"] = Tool(
        wait, "Waits, then answers.", schema(("seconds",), seconds="number")
    )
    server.run()
