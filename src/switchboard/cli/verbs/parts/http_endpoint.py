"""An HTTP endpoint for as long as a command runs: the daemon's, or one of this process."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.board import attach
from switchboard.control.board_client import BoardClient
from switchboard.control.requests import ListenRequest
from switchboard.daemon.board.reload import Load
from switchboard.daemon.serve import run as run_loop
from switchboard.daemon.serve_http import serve_http as serve_in_process
from switchboard.ipc.paths import places_from
from switchboard.settings.sections import Settings
from switchboard.shim.main import Stranded
from switchboard.surface.http.listener import bind, url_of
from switchboard.surface.http.token import bearer_token

# Tells of an endpoint by its address, and by the log of the daemon if that serves it.
Describe = Callable[[str, str], Report]

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_http(
    request: CommandRequest, settings: Settings, load: Load, describe: Describe
) -> Report:
    """Serve until Ctrl-C, through the daemon unless it is not wanted or cannot be had."""
    try:
        client = attach(request)
    except Stranded as stranded:
        request.talk.say(f"warning: {stranded}; serving in this process instead")
        client = None
    if client is not None:
        return _attached(request, settings, client, describe)

    def ready(url: str) -> None:
        request.show(describe(url, ""))

    return Silent(
        code=run_loop(serve_in_process(settings, request.environ, ready=ready, load=load))
    )


def _attached(
    request: CommandRequest, settings: Settings, client: BoardClient, describe: Describe
) -> Report:
    """Have the daemon serve a socket of ours for as long as we run."""
    listener = settings.listener
    wanted = ListenRequest(host=listener.host, token=bearer_token(settings.home, request.environ))
    try:
        with bind(listener.host, listener.port, allow_remote=listener.allow_remote) as listening:
            client.listen(listening.fileno(), wanted)
            url = url_of(listening)
        try:
            with _signals():
                request.show(describe(url, places_from(dict(request.environ)).log))
                client.until_ended()
        except _Signalled:
            client.leave()
    finally:
        client.close()
    return Silent()


class _Signalled(Exception):
    """Somebody wants us to stop."""


@contextmanager
def _signals() -> Generator[None]:
    """Raise `_Signalled` at the first signal that asks us to stop; further ones change nothing."""

    def stop(_number: int, _frame: object) -> None:
        for each in _STOPPING:
            signal.signal(each, signal.SIG_IGN)
        raise _Signalled

    for number in _STOPPING:
        signal.signal(number, stop)
    yield
