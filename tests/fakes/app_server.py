"""A program that calls itself Codex and misbehaves as its first line of orders says.

python app_server.py HABIT
"""

import json
import sys
from typing import Any


def say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def turn(status: str, text: str) -> None:
    items = [{"type": "agentMessage", "id": "m", "text": text}]
    done = {"id": "turn-1", "status": status, "items": items, "error": None}
    say({"method": "turn/completed", "params": {"threadId": "thread-1", "turn": done}})


def misbehave(habit: str) -> None:
    """Do what the habit is, in the middle of the turn."""
    match habit:
        case "long-line":
            sys.stdout.write("x" * (17 * 1024 * 1024) + "\n")
            sys.stdout.flush()
        case "garbage":
            sys.stdout.write("not json\n[1, 2]\n\n\x00\n")
            say({"method": "never/heard/of", "params": {"threadId": "thread-1", "x": [1]}})
            say({"method": "item/completed", "params": {"threadId": "thread-1", "item": None}})
            item = {"type": "never-heard-of", "id": "1"}
            say({"method": "item/completed", "params": {"threadId": "thread-1", "item": item}})
            turn("completed", "all done")
        case "unknown-request":
            say({"id": 77, "method": "never/heard/of", "params": {}})
        case "vanish":
            sys.exit(3)
        case _:
            raise ValueError(habit)


def main(habit: str) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize" if habit == "refuse":
                say({"id": message["id"], "error": {"code": -1, "message": "no"}})
            case "initialize":
                say({"id": message["id"], "result": {}})
            case "thread/start":
                say({"id": message["id"], "result": {"thread": {"id": "thread-1"}}})
            case "turn/start":
                say({"id": message["id"], "result": {"turn": {"id": "turn-1"}}})
                misbehave(habit)
            case None if message.get("id") == 77:
                turn("completed", f"answered with {sorted(set(message) - {'id'})}")
            case _:
                pass


if __name__ == "__main__":
    main(sys.argv[1])
