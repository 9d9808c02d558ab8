"""A child that writes into the folder it stands in, all the time, and keeps a file there open.

It also writes where it is told to. Without a name as its argument it does so only when told.
"""

import sys
import time
from pathlib import Path
from threading import Thread

from common_tools import common_server
from tiny_server import Json, Tool, schema


def write(args: Json) -> str:
    try:
        Path(args["path"]).write_text("written", "utf-8")
    except OSError as error:
        return f"refused: {error.strerror}"
    return "written"


def squat(name: str) -> None:
    with Path(name).open("w", encoding="utf-8") as kept:
        while True:
            kept.write("mine\n")
            kept.flush()
            Path(f"{name}.again").write_text(str(time.time()), "utf-8")
            time.sleep(0.002)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Thread(target=squat, args=(sys.argv[1],), daemon=True).start()
    server = common_server("squatting")
    server.tools["write"] = Tool(write, "Writes a file.", schema(("path",), path="string"))
    server.run()
