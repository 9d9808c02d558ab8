"""An agent that speaks ACP and does what its task says: `quick_agent.py FOLDER`.

The task is a name. It writes to the log of the folder that it begins, then each moment that it is
still at it, until a file says that it may end. Each line is on the disk before the next.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])


def log(*words: object) -> None:
    line = " ".join(map(str, (*words, os.getpid(), time.time()))) + "\n"
    with (FOLDER / "log").open("a", encoding="utf-8") as file:
        file.write(line)


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


class Session:
    """One conversation."""

    def __init__(self) -> None:
        self.id = ""
        self.is_loaded = False
        self.is_cancelled = threading.Event()

    def prompt(self, asked: object, name: str) -> None:
        note = FOLDER / f"{self.id}.task"
        if self.is_loaded:
            # It is told to go on with what it knows.
            name = note.read_text("utf-8")
        note.write_text(name, "utf-8")
        log("loaded" if self.is_loaded else "begin", name)
        reason = "end_turn"
        while not (FOLDER / f"{name}.go").exists():
            if self.is_cancelled.wait(0.05):
                reason = "cancelled"
                break
            log("tick", name)
        else:
            log("end", name)
            words = {"type": "text", "text": f"did {name}"}
            update = {"sessionUpdate": "agent_message_chunk", "content": words}
            send(method="session/update", params={"sessionId": self.id, "update": update})
        send(id=asked, result={"stopReason": reason})


def main() -> None:
    session = Session()
    (FOLDER / "environment").write_text(json.dumps(dict(os.environ)), "utf-8")
    for line in sys.stdin:
        message = json.loads(line)
        asked, params = message.get("id"), message.get("params", {})
        match message.get("method"):
            case "initialize":
                abilities = {"loadSession": True}
                send(id=asked, result={"protocolVersion": 1, "agentCapabilities": abilities})
            case "session/new":
                session.id = f"s-{os.getpid()}"
                send(id=asked, result={"sessionId": session.id})
            case "session/load":
                session.id, session.is_loaded = params["sessionId"], True
                send(id=asked, result={})
            case "session/prompt":
                name = params["prompt"][-1]["text"].split()[-1].strip(".")
                threading.Thread(target=session.prompt, args=(asked, name), daemon=True).start()
            case "session/cancel":
                session.is_cancelled.set()
            case _:
                continue


main()
