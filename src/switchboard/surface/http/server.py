"""The HTTP server: uvicorn under our own rules for signals and stopping."""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Generator
from functools import partial
from typing import Any, Protocol, cast

import uvicorn

from switchboard.core.loop.tasks import TaskSet
from switchboard.surface.http.connection import (
    Bounds,
    HttpConnection,
    TlsConnection,
    UnfinishedHeads,
)
from switchboard.surface.http.exchange import Receive, Scope, Send

# Streams are ended and calls cancelled before the server stops; this bounds what is left.
_GRACE_S = 2
_KEEP_ALIVE_S = 75
_MOST_CONNECTIONS = 4_096
_AT_ONCE = 16


class ServedApp(Protocol):
    """What is served: an ASGI application that can be closed."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send, /) -> None: ...
    async def aclose(self) -> None:
        """Take nothing new in, and end what is under way and every stream."""
        ...


class _Server(uvicorn.Server):
    """Signals are not its business: whoever owns the children decides when all of it stops."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stop = asyncio.Event()
        self.is_up = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def main_loop(self) -> None:
        # Nothing here needs the ten looks a second of the loop that this one replaces.
        await self.on_tick(0)
        self.is_up.set()
        await self._stop.wait()

    def stop(self) -> None:
        """Stop to listen, and end."""
        self._stop.set()


@contextlib.asynccontextmanager
async def served(
    surface: ServedApp,
    listening: socket.socket,
    bounds: Bounds | None = None,
    *,
    # A file with a key and its certificate, for HTTPS.
    certificate: str | None = None,
) -> AsyncGenerator[None]:
    """Serve the surface on the socket for as long as the block runs."""
    heads = UnfinishedHeads(bounds or Bounds(connections=most_connections()))
    connection = partial(HttpConnection, heads=heads)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        connection = partial(TlsConnection, heads=heads, context=context)
    config = uvicorn.Config(
        cast("Any", surface),
        http=cast("Any", connection),
        ws="none",
        lifespan="off",
        loop="none",
        interface="asgi3",
        access_log=False,
        log_config=None,
        log_level="error",
        server_header=False,
        date_header=False,
        # Whoever connects is who it is: no header says otherwise.
        proxy_headers=False,
        # So many are taken in before anybody looks whether they are too many.
        backlog=_AT_ONCE,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = _Server(config)
    async with TaskSet() as tasks:
        serving = tasks.start(server.serve(sockets=[listening]))
        up = tasks.start(server.is_up.wait())
        await asyncio.wait({serving, up}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if not serving.done():
                # The others wait with the kernel, which has its own files for them.
                listening.listen(_MOST_CONNECTIONS)
                yield
        finally:
            await surface.aclose()
            server.stop()
            await serving


def most_connections() -> int:
    """How many clients may be connected: children and files need descriptors, too."""
    return max(16, min(_MOST_CONNECTIONS, os.sysconf("SC_OPEN_MAX") // 2))
