"""A listening socket that was handed to the daemon, and HTTP on it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import msgspec

from switchboard.control.api import Control
from switchboard.control.requests import ListenRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.serve_http import serve_socket
from switchboard.surface.http.access import Access, hosts_of
from switchboard.surface.http.listener import adopted
from switchboard.surface.http.routes import ControlRoutes
from switchboard.surface.http.surface import HttpSurface
from switchboard.surface.http.token import CONTROL_FILE, check_token, kept_token
from switchboard.wire.http_hosts import is_loopback


class ServeHandedOver(Protocol):
    """Serves HTTP on an open file for as long as a block lasts."""

    def __call__(
        self,
        runtime: Runtime,
        number: int,
        line: bytes,
        control: Control,
        *,
        depth: int,
        is_pinned: bool,
    ) -> AbstractAsyncContextManager[HttpSurface]: ...


@asynccontextmanager
async def serve_handed_over(
    runtime: Runtime,
    number: int,
    line: bytes,
    control: Control,
    *,
    depth: int,
    is_pinned: bool,
) -> AsyncGenerator[HttpSurface]:
    """Serve on the open file that came with the line. Raises a fault when it makes no sense.

    Whoever shows the daemon's own token there is served its control API. `depth` runs of agents
    stand above whoever wants it served, and so above each of its clients.
    """
    try:
        request = msgspec.json.decode(line, type=ListenRequest)
    except msgspec.MsgspecError as error:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "listen-refused",
            f"this is not a request to listen: {error}",
        ) from None
    check_token(request.token, "the request")
    with adopted(number) as listening:
        address, port = listening.getsockname()[:2]
        hosts = hosts_of(request.host, port)
        routes = None
        # Who reaches us from another machine has no business with the daemon itself.
        if is_loopback(address):
            # It waits for a lock of the home, and nobody else waits with it.
            token = await asyncio.to_thread(kept_token, runtime.settings.home, CONTROL_FILE)
            routes = ControlRoutes(control, Access(token=token, hosts=hosts))
        access = Access(token=request.token, hosts=hosts)
        async with serve_socket(
            runtime, listening, access, routes, depth=depth, is_pinned=is_pinned
        ) as surface:
            yield surface
