"""The floor: what any relay in Python has to pay, and nothing else.

    python floor.py CONFIG

One suite tool per child of an `mcpServers` file, on asyncio and the standard library. A child is
started by its first call. No policy, no limits, no recovery: a real gateway comes on top of this.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

Json = dict[str, Any]

LONGEST_LINE = 64 * 1024 * 1024
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "action": {"enum": ["introspect", "call"]},
        "subtool": {"type": "string"},
        "args": {"type": "object"},
    },
    "required": ["action"],
}
HELLO: tuple[Json, ...] = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "floor", "version": "0"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)

_encode = json.JSONEncoder(separators=(",", ":")).encode


def line(message: Json) -> bytes:
    return _encode(message).encode() + b"\n"


class Relay:
    """The client on our standard streams, and the children that it has called."""

    def __init__(self, servers: dict[str, Json]) -> None:
        self._servers = servers
        self._children: dict[str, Process] = {}
        self._pumps: list[asyncio.Task[None]] = []
        self._asked: dict[int, Any] = {}
        self._count = 0

    async def serve(self) -> None:
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while received := await reader.readline():
            message: Json = json.loads(received)
            if "id" in message and "method" in message:
                await self._answer(message)

    async def _answer(self, message: Json) -> None:
        method: str = message["method"]
        params: Json = message.get("params") or {}
        if method == "tools/call":
            await self._forward(message["id"], params["name"], params["arguments"])
            return
        result: Json = {}
        if method == "initialize":
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "floor", "version": "0"},
            }
        elif method == "tools/list":
            result = {
                "tools": [
                    {"name": name, "description": f"Tools of {name}.", "inputSchema": SCHEMA}
                    for name in self._servers
                ]
            }
        self._write({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def _forward(self, ident: Any, suite: str, arguments: Json) -> None:
        child = self._children.get(suite) or await self._started(suite)
        self._count += 1
        self._asked[self._count] = ident
        request: Json = {"jsonrpc": "2.0", "id": self._count, "method": "tools/list", "params": {}}
        if arguments["action"] == "call":
            request["method"] = "tools/call"
            args: Json = arguments.get("args") or {}
            request["params"] = {"name": arguments["subtool"], "arguments": args}
        assert child.stdin is not None
        child.stdin.write(line(request))

    async def _started(self, suite: str) -> Process:
        server = self._servers[suite]
        child = await asyncio.create_subprocess_exec(
            server["command"], *server.get("args", ()), stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE
        )
        self._children[suite] = child
        assert child.stdin is not None
        child.stdin.write(b"".join(line(message) for message in HELLO))
        self._pumps.append(asyncio.create_task(self._pump(child)))
        return child

    async def _pump(self, child: Process) -> None:
        assert child.stdout is not None
        while received := await child.stdout.readline():
            message: Json = json.loads(received)
            if message.get("id") in self._asked:
                message["id"] = self._asked.pop(message["id"])
                self._write(message)

    def _write(self, message: Json) -> None:
        left = memoryview(line(message))
        while left:
            left = left[os.write(1, left) :]


if __name__ == "__main__":
    asyncio.run(Relay(json.loads(Path(sys.argv[1]).read_text("utf-8"))["mcpServers"]).serve())
