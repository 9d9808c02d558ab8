"""A server that tells of its progress, logs, and announces changes while it works."""

from common_tools import common_server
from tiny_server import Json, Tool, schema


def work(_args: Json) -> str:
    for step in range(3):
        params: Json = {"progressToken": "only-for-one", "progress": step}
        server.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    log: Json = {"level": "info", "data": "only-for-one"}
    server.send({"jsonrpc": "2.0", "method": "notifications/message", "params": log})
    return "worked"


server = common_server("chatty")

if __name__ == "__main__":
    server.tools["work"] = Tool(work, "Works, and tells of it.", schema())
    server.run()
