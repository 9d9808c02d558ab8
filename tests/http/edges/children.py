"""Children that are reached over HTTP, and the servers behind them."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Raw

from switchboard.children.child import Child
from switchboard.children.pool import ChildPool
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import EnvironmentSecrets
from switchboard.core.bus import EventBus
from switchboard.core.events import Event
from switchkit.reaper_client import Reaper

SDK_SERVER = Path(__file__).parents[1] / "servers" / "sdk_server.py"
EVERYTHING = (
    Path(__file__).parents[2] / "node/node_modules/@modelcontextprotocol/server-everything/dist"
) / "index.js"


class Remote:
    """A child, and what was seen of it."""

    def __init__(self, child: Child, events: list[Event]) -> None:
        self.child = child
        self.events = events
        self.changed = asyncio.Event()
        child.listings.on_changed = lambda _: self.changed.set()

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Give the result of a call."""
        raw = await self.child.call(name, Raw(json.dumps(arguments).encode()))
        return json.loads(bytes(raw))

    async def text(self, name: str, /, **arguments: Any) -> str:
        result = await self.call(name, **arguments)
        return result["content"][0]["text"]

    async def tools(self) -> list[str]:
        return list((await self.child.tools()).tools)


@asynccontextmanager
async def remote_child(
    url: str, *, transport: str = "http", limits: ChildLimits | None = None, **more: Any
) -> AsyncGenerator[Remote]:
    events: list[Event] = []
    reaper = Reaper()
    pool = ChildPool(
        environ={},
        secrets=EnvironmentSecrets({}),
        events=EventBus(events.append),
        reaper=reaper,
    )
    kind: Any = transport
    entry = ServerEntry(name="far", transport=kind, url=url, **more)
    try:
        yield Remote(pool.child(entry, limits or ChildLimits(spawn_s=5, rpc_s=10)), events)
    finally:
        await pool.aclose()
        reaper.close()


@asynccontextmanager
async def process(
    *command: str, port_from: Callable[[asyncio.subprocess.Process], Any], **env: str
) -> AsyncGenerator[int]:
    """Run a server until the block ends; gives its port."""
    running = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **env},
    )
    try:
        async with asyncio.timeout(30):
            port = await port_from(running)
        yield port
    finally:
        running.kill()
        await running.communicate()


async def _printed_port(running: asyncio.subprocess.Process) -> int:
    assert running.stdout is not None
    return int(await running.stdout.readline())


@asynccontextmanager
async def sdk_server(kind: str) -> AsyncGenerator[str]:
    """Run the official SDK's server; gives its URL."""
    async with process(sys.executable, str(SDK_SERVER), kind, port_from=_printed_port) as port:
        yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"


@asynccontextmanager
async def everything(kind: str, port: int) -> AsyncGenerator[str]:
    """Run the TypeScript reference server; gives its URL."""

    async def listening(running: asyncio.subprocess.Process) -> int:
        assert running.stderr is not None
        while not re.search(rb"(listening|running) on port", await running.stderr.readline()):
            pass
        return port

    command = ("node", str(EVERYTHING), kind)
    async with process(*command, port_from=listening, PORT=str(port)):
        yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
