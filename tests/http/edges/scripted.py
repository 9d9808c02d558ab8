"""An HTTP server that answers as a test tells it to."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, NamedTuple

Json = dict[str, Any]


class Asked(NamedTuple):
    """One request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Json:
        return json.loads(self.body) if self.body else {}

    @property
    def rpc(self) -> str:
        return self.message.get("method", "")


class Told(NamedTuple):
    """One answer; a body in pieces is sent piece by piece, and the connection is closed after.

    Status 0 is no answer at all: the connection is closed.
    """

    status: int = 200
    body: "bytes | AsyncIterator[bytes]" = b""
    headers: dict[str, str] = {}  # noqa: RUF012 - nobody changes it


Handler = Callable[[Asked], Told]


def result(asked: Asked, value: Json) -> Told:
    body = json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "result": value}, indent=2)
    return Told(200, body.encode(), {"content-type": "application/json"})


def error(asked: Asked, code: int, message: str, status: int = 200) -> Told:
    answer = {"id": asked.message.get("id"), "error": {"code": code, "message": message}}
    return Told(status, json.dumps(answer).encode(), {"content-type": "application/json"})


def handshake(asked: Asked, **headers: str) -> Told | None:
    """Answer what every server of the handshake era answers; None for the rest."""
    if asked.method != "POST":
        return Told(204 if asked.method == "DELETE" else 405)
    if "id" not in asked.message:
        return Told(202)
    match asked.rpc:
        case "server/discover":
            return error(asked, -32601, "what?", 400)
        case "initialize":
            capabilities: Json = {"tools": {}}
            told = result(asked, {"protocolVersion": "2025-06-18", "capabilities": capabilities})
            return told._replace(headers=told.headers | headers)
        case "tools/list":
            return result(asked, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
        case _:
            return None


class Scripted:
    """The running server: where it is, and what it was asked."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.asked: list[Asked] = []
        self.hung_up = asyncio.Event()
        self.url = ""
        self._open: set[asyncio.StreamWriter] = set()
        self._deaf: set[asyncio.StreamWriter] = set()

    async def hang_up(self) -> None:
        """Close every connection that is open now."""
        for writer in tuple(self._open):
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def go_deaf(self) -> None:
        """Take no notice any more of what comes on the connections that are open now."""
        self._deaf |= self._open

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                method, path, _ = first.split(" ")
                headers = {n.lower(): v for n, v in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if writer in self._deaf:
                    continue
                asked = Asked(method, path, headers, body)
                self.asked.append(asked)
                if not await self._answer(self._handler(asked), reader, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(
        self, told: Told, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if not told.status:
            return False
        lines = [f"HTTP/1.1 {told.status} {HTTPStatus(told.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in told.headers.items()]
        whole = isinstance(told.body, bytes)
        lines.append(f"content-length: {len(told.body)}" if whole else "connection: close")  # type: ignore[arg-type]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        if isinstance(told.body, bytes):
            writer.write(told.body)
            await writer.drain()
            return True
        gone = asyncio.ensure_future(reader.read())
        gone.add_done_callback(lambda _: self.hung_up.set())
        async for piece in told.body:
            if writer in self._deaf:
                continue
            writer.write(piece)
            await writer.drain()
        gone.cancel()
        return False

    def said(self, rpc: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.rpc == rpc]


@asynccontextmanager
async def scripted(handler: Handler, port: int = 0) -> AsyncGenerator[Scripted]:
    script = Scripted(handler)
    server = await asyncio.start_server(script.serve, "127.0.0.1", port)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    async with server:
        yield script
        server.close()
