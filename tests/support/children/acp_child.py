"""An agent without a model that speaks ACP: it repeats the task, or hangs when told to."""

import json
import sys
from typing import Any


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def chunk(text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": "s-1", "update": update}})


def main() -> None:
    prompted = None
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                told = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
                send({"id": message["id"], "result": told})
            case "session/new" | "session/load":
                send({"id": message["id"], "result": {"sessionId": "s-1"}})
            case "session/prompt":
                text = message["params"]["prompt"][-1]["text"]
                prompted = message["id"]
                if text != "hang":
                    chunk(text)
                    send({"id": prompted, "result": {"stopReason": "end_turn"}})
            case "session/cancel" if prompted is not None:
                send({"id": prompted, "result": {"stopReason": "cancelled"}})
            case _:
                continue


main()
