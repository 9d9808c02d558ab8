"""A child made with the Python SDK, which serves both eras."""

from mcp.server import MCPServer

server = MCPServer("python-sdk")


@server.tool()
def echo(text: str) -> str:
    """Say the text again."""
    return f"echo: {text}"


if __name__ == "__main__":
    server.run()
