"""Serving clients over HTTP until a signal comes."""

from collections.abc import Callable, Mapping

from switchboard.daemon.instructions import instructions_for
from switchboard.daemon.reload import Load, serving
from switchboard.daemon.serve import until_signal
from switchboard.settings.sections import Settings
from switchboard.surface.http.access import Access, hosts_of
from switchboard.surface.http.server import bind, served, url_of
from switchboard.surface.http.surface import HttpSurface
from switchboard.surface.http.token import bearer_token

Ready = Callable[[str, str], None]


async def serve_http(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    ready: Ready | None = None,
    load: Load | None = None,
) -> int:
    """Serve every client of one port. `ready` gets the URL and the token once it listens.

    Raises a fault when it cannot listen.
    """
    listener = settings.listener
    token = bearer_token(settings.home, environ)
    listening = bind(listener.host, listener.port, allow_remote=listener.allow_remote)
    async with serving(settings, environ, load) as runtime:
        surface = HttpSurface(
            runtime.boards,
            runtime.events,
            Access(token=token, hosts=hosts_of(listener.host, listening.getsockname()[1])),
            workspace=settings.workspace,
            instructions=lambda: instructions_for(runtime),
        )
        runtime.on_changed.add(surface.changed)
        stopped = until_signal()
        async with served(surface, listening):
            if ready is not None:
                ready(url_of(listening), token)
            runtime.warm()
            await stopped
    return 0
