"""Serving a board over HTTP: on a socket of the daemon's, or in a process of its own."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from switchboard.control.api import Control
from switchboard.control.requests import ListenRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.board.instructions import instructions_for
from switchboard.daemon.board.reload import Load, serving
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.serve import until_signal
from switchboard.settings.sections import Settings
from switchboard.surface.http.access import Access, hosts_of
from switchboard.surface.http.listener import adopted, bind, url_of
from switchboard.surface.http.routes import ControlRoutes
from switchboard.surface.http.server import served
from switchboard.surface.http.surface import HttpSurface
from switchboard.surface.http.token import CONTROL_FILE, bearer_token, check_token, kept_token
from switchboard.wire.http_hosts import is_loopback

Ready = Callable[[str], None]
ServeHandedOver = Callable[[Runtime, int, bytes, Control], AbstractAsyncContextManager[HttpSurface]]


@asynccontextmanager
async def serve_handed_over(
    runtime: Runtime, number: int, line: bytes, control: Control
) -> AsyncGenerator[HttpSurface]:
    """Serve on the open file that came with the line. Raises a fault when it makes no sense."""
    try:
        request = msgspec.json.decode(line, type=ListenRequest)
    except msgspec.MsgspecError as error:
        raise Fault(
            FaultCode.INVALID_ARGUMENT, "listen-refused", f"this is no request to listen: {error}"
        ) from None
    check_token(request.token, "the request")
    with adopted(number) as listening:
        async with serve_socket(runtime, listening, request, control) as surface:
            yield surface


@asynccontextmanager
async def serve_socket(
    runtime: Runtime, listening: socket.socket, request: ListenRequest, control: Control | None
) -> AsyncGenerator[HttpSurface]:
    """Serve the board's clients, and whoever shows the daemon's own token its control API."""
    address, port = listening.getsockname()[:2]
    hosts = hosts_of(request.host, port)
    routes = None
    # Who reaches us from another machine has no business with the daemon itself.
    if control is not None and is_loopback(address):
        # It waits for a lock of the home, and nobody else waits with it.
        token = await asyncio.to_thread(kept_token, runtime.settings.home, CONTROL_FILE)
        routes = ControlRoutes(control, Access(token=token, hosts=hosts))
    surface = HttpSurface(
        runtime.boards,
        runtime.events,
        Access(token=request.token, hosts=hosts),
        workspace=runtime.settings.workspace,
        instructions=lambda: instructions_for(runtime),
        control=routes,
    )
    runtime.on_changed.add(surface.changed)
    try:
        async with served(surface, listening):
            runtime.warm()
            yield surface
    finally:
        runtime.on_changed.discard(surface.changed)


async def serve_http(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    ready: Ready | None = None,
    load: Load | None = None,
) -> int:
    """Serve every client of one port until a signal comes.

    `ready` gets the URL once it listens. Raises a fault when it cannot listen.
    """
    listener = settings.listener
    token = bearer_token(settings.home, environ)
    listening = bind(listener.host, listener.port, allow_remote=listener.allow_remote)
    request = ListenRequest(host=listener.host, token=token)
    async with serving(settings, environ, load) as runtime:
        stopped = until_signal()
        async with serve_socket(runtime, listening, request, None):
            if ready is not None:
                ready(url_of(listening))
            await stopped
    return 0
