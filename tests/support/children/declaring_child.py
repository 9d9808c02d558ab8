"""A child whose tools declare what it is told: `python declaring_child.py '{"look": {}, …}'`.

By name: the annotations of each, or nothing for one that is silent. Standard library only.
"""

import json
import sys

from tiny_server import Json, TinyServer, Tool, schema

FREE = {**schema(), "additionalProperties": True}


def done(_args: Json) -> str:
    return "done"


if __name__ == "__main__":
    server = TinyServer("declaring", {})
    server.tools |= {
        name: Tool(done, "Does it.", FREE, annotations or None)
        for name, annotations in json.loads(sys.argv[1]).items()
    }
    server.run()
