"""A server that answers one tool with a flood of everything that it may say, and another never."""

from common_tools import READ_ONLY, common_server
from tiny_server import Json, Tool, schema

WORDS = 500


def flood(_args: Json) -> str:
    for number in range(WORDS):
        server.notify("notifications/message", {"level": "info", "data": f"word {number}"})
        server.notify("notifications/progress", {"progressToken": "nobody's", "progress": number})
        server.notify("notifications/tools/list_changed")
        server.notify("notifications/resources/updated", {"uri": f"demo://{number}"})
        server.notify("notifications/nobody/knows", {"number": number})
    return "flooded"


def wait(_args: Json) -> None:
    """Leave the call without an answer."""


server = common_server("flooding")

if __name__ == "__main__":
    server.tools["flood"] = Tool(flood, "Says a great deal.", schema(), READ_ONLY)
    server.tools["wait"] = Tool(wait, "Never answers.", schema(), READ_ONLY)
    server.run()
