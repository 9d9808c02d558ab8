"""A small MCP server over HTTP that remembers the headers of every request."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.http_serving import served

_TOOL = {"name": "echo", "inputSchema": {"type": "object"}}


class HeaderServer:
    """What was sent."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[dict[str, str]] = []
        self.all: list[dict[str, str]] = []


@contextmanager
def header_server() -> Generator[HeaderServer]:
    """Serve one on loopback."""
    server = HeaderServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.all.append(headers)
            result: dict[str, Any] | None = None
            match message.get("method"):
                case "initialize":
                    result = {
                        "protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "headers", "version": "1"},
                    }
                case "tools/list":
                    result = {"tools": [_TOOL]}
                case "tools/call":
                    server.calls.append(headers)
                    result = {"content": [{"type": "text", "text": "done"}]}
                case _:
                    pass
            if "id" in message:
                error = {"code": -32601, "message": "unknown"}
                told = {"result": result} if result is not None else {"error": error}
                self._send(200, {"jsonrpc": "2.0", "id": message["id"], **told})
            else:
                self._send(202, None)

        def do_GET(self) -> None:
            self._send(405, None)

        do_DELETE = do_GET  # noqa: N815 - as above

        def _send(self, status: int, value: object) -> None:
            data = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
            pass

    with served(Handler) as address:
        server.url = f"{address}/mcp"
        yield server
