"""A child with as many tools as its first argument says, each with a schema of that many letters.

A third argument is the number of letters of its instructions; then it also has `page`.
"""

import sys

from tiny_server import Json, TinyServer, Tool, schema

# Words, as schemas have them: what counts tokens counts these like real ones.
WORDS = "the number of rows that one page of an answer may hold at most, "


def done(given: Json) -> str:
    return f"done with {len(given)}"


def tool(number: int, letters: int) -> Tool:
    about = (WORDS * (letters // len(WORDS) + 1))[: max(0, letters - 90)]
    return Tool(
        done,
        f"Does thing {number}. It takes a while, and gives a page of rows; ask again for more.",
        {
            "type": "object",
            "properties": {f"limit_{number}": {"type": "integer", "description": about}},
        },
        {"readOnlyHint": True},
    )


def page(given: Json) -> str:
    letters = given["letters"]
    return (WORDS * (letters // len(WORDS) + 1))[:letters]


PAGE = Tool(
    page,
    "Gives so many letters.",
    schema(("letters",), letters="integer"),
)


if __name__ == "__main__":
    count, size, *rest = map(int, sys.argv[1:])
    server = TinyServer("wide", {f"do_thing_{each}": tool(each, size) for each in range(count)})
    if rest:
        server.tools["page"] = PAGE
        server.instructions = ("Begin with thing 0. " + WORDS * (rest[0] // 60 + 1))[: rest[0]]
    server.run()
