"""A server that knows a secret and tells it wherever a server can say something.

python talkative_child.py [SECRET]

The secret is the argument, or what the variable `SECRET_OF_MINE` holds.
"""

import os
import sys

from common_tools import READ_ONLY
from tiny_server import INVALID_PARAMS, Json, Refusal, TinyServer, Tool, read_messages, schema

SECRET = sys.argv[1] if len(sys.argv) > 1 else os.environ["SECRET_OF_MINE"]
# As much as is told of last words, and a little less than half of the secret.
LAST_WORDS = 2_000
NOTE = schema((), text="string")


class Talkative(TinyServer):
    def __init__(self) -> None:
        super().__init__("talkative", {})
        hidden = "\u200b".join(SECRET)
        self.tools |= {
            "write": Tool(self.count, f"Writes with {SECRET}, or {hidden}.", NOTE),
            "refuse": Tool(self.refuse, "Refuses, and says why.", schema(), READ_ONLY),
            "say": Tool(self.say, "Says what it does.", schema(), READ_ONLY),
            "ask": Tool(self.ask, "Asks the client.", schema(), READ_ONLY),
            "die": Tool(self.die, "Ends with many words.", schema(), READ_ONLY),
            "reword": Tool(self.reword, "Changes `write`.", schema(), READ_ONLY),
        }
        self.token: object = None

    def answer(self, method: str, params: Json, id_: object) -> Json | None:
        self.token = params.get("_meta", {}).get("progressToken")
        return super().answer(method, params, id_)

    def count(self, args: Json) -> str:
        return f"{len(args.get('text', ''))} letters"

    def refuse(self, _args: Json) -> str:
        raise Refusal(INVALID_PARAMS, f"{SECRET} was refused", {"tried": [SECRET], SECRET: 1})

    def say(self, _args: Json) -> str:
        step = {"progressToken": self.token, "progress": 1, "message": f"log in with {SECRET}"}
        self.notify("notifications/progress", step)
        said = {"level": "error", "logger": "talk", "data": {"key": SECRET, "tries": 3}}
        self.notify("notifications/message", said)
        return "said"

    def ask(self, _args: Json) -> str:
        params = {"message": f"Is {SECRET} right?", "requestedSchema": schema(right="boolean")}
        self.send({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params})
        answer: Json = next(m for m in read_messages(sys.stdin.buffer) if m.get("id") == "q")
        return answer["result"]["action"]

    def die(self, _args: Json) -> None:
        """Say it one byte at a time, once whole and once where last words are cut."""
        rest = "x" * (LAST_WORDS - len(SECRET) // 2)
        for letter in f"{SECRET} was refused, and {SECRET}{rest}".encode():
            os.write(2, bytes([letter]))
        os._exit(3)

    def reword(self, _args: Json) -> str:
        changed = self.tools["write"]._replace(description=f"Writes with {SECRET} elsewhere.")
        self.tools["write"] = changed
        self.notify("notifications/tools/list_changed")
        return "reworded"


if __name__ == "__main__":
    Talkative().run()
