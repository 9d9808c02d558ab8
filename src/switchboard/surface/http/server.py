"""The port: uvicorn under our own rules for binding, signals and stopping."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Generator

import uvicorn

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.tasks import TaskSet
from switchboard.surface.http.surface import PATH, HttpSurface
from switchboard.wire.http_hosts import in_url, is_any_address, is_loopback

_BACKLOG = 128
# Streams are ended and calls cancelled before the server stops; this bounds what is left.
_GRACE_S = 2
_KEEP_ALIVE_S = 75


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


def bind(host: str, port: int, *, allow_remote: bool) -> socket.socket:
    """A socket that listens. Raises a fault."""
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except OSError as error:
        raise Fault(
            FaultCode.FAILED_PRECONDITION, "host-unknown", f"there is no address for `{host}`"
        ) from error
    family, _, _, _, address = min(found, key=lambda each: each[0])
    if not is_loopback(str(address[0])) and not allow_remote:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "host-not-loopback",
            f"`{host}` is reached from other machines, and that was not allowed",
            hint="use 127.0.0.1, or allow it with `--allow-remote`",
        )
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "port-in-use",
            f"port {port} of {host} cannot be used: {error.strerror}",
            hint="choose another one with `--port`",
        ) from error
    listening.setblocking(False)
    return listening


def url_of(listening: socket.socket) -> str:
    """Where clients of this machine reach it."""
    host, port = listening.getsockname()[:2]
    name = "127.0.0.1" if is_any_address(host) else in_url(host)
    return f"http://{name}:{port}{PATH}"


@contextlib.asynccontextmanager
async def served(surface: HttpSurface, listening: socket.socket) -> AsyncGenerator[None]:
    """Serve the surface on the socket for as long as the block runs."""
    config = uvicorn.Config(
        surface,
        http="h11",
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
                yield
        finally:
            await surface.aclose()
            server.stop()
            await serving
