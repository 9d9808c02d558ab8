"""A child that fetches what it is told to, through the proxy of its environment."""

import urllib.error
import urllib.request

from tiny_server import Json, TinyServer, Tool, schema


def get(args: Json) -> str | Json:
    try:
        with urllib.request.urlopen(args["url"], timeout=60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        said = f"{error.code} {error.reason}: {error.read().decode()}"
    except OSError as error:
        said = str(error)
    return {"content": [{"type": "text", "text": said}], "isError": True}


if __name__ == "__main__":
    tool = Tool(get, "Fetch an address.", schema(("url",), url="string"), {"readOnlyHint": True})
    TinyServer("url", {"get": tool}).run()
