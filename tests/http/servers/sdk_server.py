"""A server of the official SDK over HTTP. Prints its port when it listens.

Usage: sdk_server.py streamable|json|stateless|sse
"""

import asyncio
import socket
import sys
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field

server = MCPServer("remote", instructions="serves the tests")
cancelled: list[str] = []


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Say it again."""
    return f"echo: {text}"


@server.tool(structured_output=False)
async def stall(name: str) -> str:
    """Take for ever."""
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        cancelled.append(name)
        raise
    return "never"


@server.tool(structured_output=False)
def cancellations() -> list[str]:
    """Tell which stalled calls were cancelled."""
    return cancelled


@server.tool(structured_output=False)
def big(size: int) -> str:
    """Answer with much."""
    return "x" * size


@server.tool(structured_output=False)
async def grow(ctx: Context) -> str:
    """Get one more tool."""

    def extra() -> str:
        return "extra"

    server.add_tool(extra, structured_output=False)
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool(structured_output=False)
async def progress(ctx: Context) -> str:
    """Report progress on the way."""
    for step in range(3):
        await ctx.report_progress(step, 3)
    return "done"


@server.tool(structured_output=False)
def route(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    urgent: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Urgent"})] = False,
) -> str:
    """Want some arguments in headers too."""
    return f"{region} {urgent}"


def main(kind: str) -> None:
    match kind:
        case "sse":
            app = server.sse_app()
        case "json":
            app = server.streamable_http_app(json_response=True)
        case "stateless":
            app = server.streamable_http_app(stateless_http=True)
        case _:
            app = server.streamable_http_app()
    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1])
