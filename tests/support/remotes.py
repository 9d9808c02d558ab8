"""Servers that are reached over HTTP."""

import asyncio
import os
import socket
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

from support.workspace import NODE_MODULES

_EVERYTHING = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"


class RunningServer(NamedTuple):
    """A server that runs in a process of its own."""

    port: int
    pid: int


@asynccontextmanager
async def everything_over_http() -> AsyncGenerator[str]:
    """The reference server as a remote one; gives its URL."""
    async with everything_running() as running:
        yield f"http://127.0.0.1:{running.port}/mcp"


@asynccontextmanager
async def everything_running() -> AsyncGenerator[RunningServer]:
    """The reference server as a remote one; gives where it listens, and its process."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *("node", str(_EVERYTHING), "streamableHttp"),
        stderr=PIPE,
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            while b"on port" not in await process.stderr.readline():
                pass
        yield RunningServer(port, process.pid)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
