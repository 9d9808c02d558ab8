"""A child of whose tools most have schemas that hosts refuse, or would without a mend."""

from tiny_server import Json, TinyServer, Tool, schema


def done(given: Json) -> str:
    return f"done with {sorted(given)}"


TOOLS: dict[str, Json] = {
    "plain": schema(("path",), path="string"),
    "choice": {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "typed": {"type": "object", "properties": {"count": {"type": "int"}}},
    "spaced": {"type": "object", "properties": {"a b": {"type": "string"}}},
    "untyped": {"properties": {"path": {"type": "string"}}},
    "itemless": {"type": "object", "properties": {"all": {"type": "array"}}},
    "old": {"$schema": "http://json-schema.org/draft-07/schema#", **schema(path="string")},
}

if __name__ == "__main__":
    tools = {name: Tool(done, "Does it.", each) for name, each in TOOLS.items()}
    TinyServer("odd", tools).run()
