"""An HTTP endpoint of the daemon for as long as a command runs."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.board import attach
from switchboard.control.requests import ListenRequest
from switchboard.ipc.paths import places_from
from switchboard.settings.sections import Settings
from switchboard.shim.main import Stranded
from switchboard.surface.http.listener import bind, url_of
from switchboard.surface.http.token import bearer_token

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_attached(
    request: CommandRequest,
    settings: Settings,
    # Told the address of the endpoint, and where its log is.
    show: Callable[[str, str], None],
) -> bool:
    """Have the daemon serve a socket of ours until Ctrl-C. False when it cannot be had."""
    try:
        client = attach(request)
    except Stranded as stranded:
        request.talk.say(f"warning: {stranded}; serving in this process instead")
        return False
    listener = settings.listener
    wanted = ListenRequest(host=listener.host, token=bearer_token(settings.home, request.environ))
    try:
        with bind(listener.host, listener.port, allow_remote=listener.allow_remote) as listening:
            client.listen(listening.fileno(), wanted)
            url = url_of(listening)
        try:
            with _signals():
                show(url, places_from(dict(request.environ)).log)
                client.until_ended()
        except _Signalled:
            client.leave()
    finally:
        client.close()
    return True


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
