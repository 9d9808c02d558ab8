"""The smallest agent that speaks ACP: it says the task back. Standard library only.

A task that begins with `stall` is never answered, until it is cancelled.
"""

import json
import sys
from typing import Any

SESSION = "s-1"


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Serve one client until it leaves."""
    stalled: int | None = None
    for line in sys.stdin:
        message = json.loads(line)
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                send(id=message["id"], result={"protocolVersion": params["protocolVersion"]})
            case "session/new":
                send(id=message["id"], result={"sessionId": SESSION})
            case "session/prompt":
                text = params["prompt"][-1]["text"]
                if text.startswith("stall"):
                    stalled = message["id"]
                    continue
                said = {"type": "text", "text": text}
                update = {"sessionUpdate": "agent_message_chunk", "content": said}
                send(method="session/update", params={"sessionId": SESSION, "update": update})
                send(id=message["id"], result={"stopReason": "end_turn"})
            case "session/cancel" if stalled is not None:
                send(id=stalled, result={"stopReason": "cancelled"})
                stalled = None
            case _:
                pass


if __name__ == "__main__":
    main()
