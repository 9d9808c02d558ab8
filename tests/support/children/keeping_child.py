"""A child that keeps what it is told in memory, as a database without a file does."""

from tiny_server import Json, TinyServer, Tool, schema

KEPT: dict[str, str] = {}


def keep(args: Json) -> str:
    KEPT[args["name"]] = args["value"]
    return "kept"


def recall(args: Json) -> str:
    return KEPT.get(args["name"], f"there is no {args['name']}")


if __name__ == "__main__":
    two = schema(("name", "value"), name="string", value="string")
    one = schema(("name",), name="string")
    tools = {
        "keep": Tool(keep, "Keeps a value under a name.", two),
        "recall": Tool(recall, "Tells the value under a name.", one),
    }
    TinyServer("keeping", tools).run()
