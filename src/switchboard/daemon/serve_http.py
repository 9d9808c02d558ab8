"""Serving a board over HTTP, in a process of its own or on a socket of the daemon's."""

import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from switchboard.control.served_clients import noted
from switchboard.daemon.ancestors import runs_above
from switchboard.daemon.board.instructions import instructions_for
from switchboard.daemon.board.reload import Load, LoadTree, serving
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.serve import until_signal
from switchboard.daemon.sessions.client_programs import clients_above
from switchboard.ipc.environment import depth_of
from switchboard.settings.sections import Settings
from switchboard.surface.http.access import Access, hosts_of
from switchboard.surface.http.listener import bind, url_of
from switchboard.surface.http.server import served
from switchboard.surface.http.surface import HttpSurface, Routes, Views
from switchboard.surface.http.token import bearer_token

if TYPE_CHECKING:
    from switchboard.surface.http.relay import Relay
    from switchboard.surface.http.routes import ControlRoutes

Ready = Callable[[str], None]


@asynccontextmanager
async def serve_socket(
    runtime: Runtime,
    listening: socket.socket,
    access: Access,
    control: "ControlRoutes | None" = None,
    *,
    depth: int = 0,
    is_pinned: bool = False,
    relay: "Relay | None" = None,
    entrance_key: bytes = b"",
    singletons: "Routes | None" = None,
    views: Views | None = None,
    page: Routes | None = None,
) -> AsyncGenerator[HttpSurface]:
    """Serve the board's clients, and perhaps those of the control API."""
    surface = HttpSurface(
        runtime.boards,
        runtime.events,
        access,
        workspace=runtime.settings.workspace,
        instructions=lambda: instructions_for(runtime),
        control=control,
        depth=depth,
        is_pinned=is_pinned,
        relay=relay,
        entrance_key=entrance_key,
        singletons=singletons,
        views=views,
        page=page,
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
    load_tree: LoadTree | None = None,
    is_pinned: bool = False,
) -> int:
    """Serve every client of one port until a signal comes.

    `ready` gets the URL once it listens. Raises a fault when it cannot listen.
    """
    listener = settings.listener
    token = bearer_token(settings.home, environ)
    listening = bind(listener.host, listener.port, allow_remote=listener.allow_remote)
    access = Access(token=token, hosts=hosts_of(listener.host, listening.getsockname()[1]))
    async with serving(settings, environ, load, load_tree) as runtime:
        stopped = until_signal()
        depth = runs_above(os.getpid(), depth_of(dict(environ)))
        with noted(settings.home, os.getpid(), clients_above(os.getpid()), is_open=True):
            async with serve_socket(runtime, listening, access, depth=depth, is_pinned=is_pinned):
                if ready is not None:
                    ready(url_of(listening))
                await stopped
    return 0
