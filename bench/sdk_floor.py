"""A further floor: the official SDK's low-level server alone on stdio, with one tool, no child."""

import asyncio

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ECHO = types.Tool(
    name="echo",
    description="Answers with the message that it is given.",
    input_schema={
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    },
)


async def listed(
    _context: ServerRequestContext, _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[ECHO])


async def called(
    _context: ServerRequestContext, params: types.CallToolRequestParams
) -> types.CallToolResult:
    text = str((params.arguments or {}).get("message"))
    return types.CallToolResult(content=[types.TextContent(text=text)])


async def main() -> None:
    server = Server("sdk-floor", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
