"""A server made with FastMCP that answers in every way that popular ones seldom do."""

# Its packages are in an environment of its own.
# pyright: basic, reportMissingImports=false

import asyncio
import base64
from typing import Annotated, Literal

from fastmcp import Context, FastMCP
from fastmcp.utilities.types import Image
from pydantic import BaseModel, Field

server = FastMCP("every-kind", instructions="Ask it whatever you like. Größe: 大きい.")
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Point(BaseModel):
    x: float
    y: float = Field(0, description="Not below 0: y ≥ 0", ge=0)


@server.tool(annotations={"readOnlyHint": True, "title": "Sum of two"})
def add(a: int, b: int = 2) -> int:
    """Adds."""
    return a + b


@server.tool
def distance(
    begin: Point, end: Point, way: Literal["straight", "blocks"] = "straight"
) -> dict[str, float]:
    """How far it is, and numbers that are hard to write."""
    x, y = abs(begin.x - end.x), abs(begin.y - end.y)
    far = x + y if way == "blocks" else (x * x + y * y) ** 0.5
    return {"far": far, "big": 12345678901234567890, "tiny": 1e-7}


@server.tool
def picture() -> Image:
    """A picture of one dot."""
    return Image(data=DOT, format="png")


@server.tool
def fails() -> str:
    """Fails, in letters that are not of this alphabet."""
    raise ValueError("böse ☠")


@server.tool
async def slow(seconds: float, ctx: Context) -> str:
    """Takes its time and says how far it is."""
    steps = max(1, int(seconds * 2))
    for step in range(steps):
        await ctx.report_progress(step, steps, f"step {step}")
        await asyncio.sleep(seconds / steps)
    return "done"


@server.tool
def odd_letters(text: str) -> str:
    """Says it again, with letters that end lines and texts elsewhere."""
    return text + "\u2028\u0000é\U0001f600"


@server.tool
def large(letters: Annotated[int, Field(ge=1, le=8_000_000)]) -> str:
    """A long text."""
    return "x" * letters


@server.resource("res://fixed")
def fixed() -> str:
    return "a fixed text"


@server.resource("res://item/{name}")
def item(name: str) -> str:
    return f"the item {name}"


@server.prompt
def review(code: str, style: str = "short") -> str:
    """Asks for a review."""
    return f"Review this in {style} words: {code}"


if __name__ == "__main__":
    server.run(show_banner=False)
