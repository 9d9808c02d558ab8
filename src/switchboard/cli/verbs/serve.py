"""`switchboard serve`: the surface on stdio or over HTTP, until the client leaves or Ctrl-C."""

import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from switchboard.cli.render import hint
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import Request
from switchboard.cli.verbs.parts.board import IN_PROCESS, attach
from switchboard.cli.verbs.parts.loading import followed_settings
from switchboard.control.board_client import BoardClient
from switchboard.control.requests import ListenRequest
from switchboard.daemon.serve import run as run_loop
from switchboard.daemon.serve import serve_stdio
from switchboard.settings.sections import Settings
from switchboard.shim.main import Stranded
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TOKEN = "SWITCHBOARD_TOKEN"  # noqa: S105 - the name of a variable

USAGE = Usage(
    verb="serve",
    summary="Serve the suites of a workspace, on stdin and stdout or over Streamable HTTP.",
    options=(
        Option(name="stdio", about="serve one client on stdin and stdout"),
        Option(name="http", about="serve many clients over Streamable HTTP"),
        Option(name="host", value="HOST", about="listen on this address (HTTP)"),
        Option(name="port", value="PORT", about="listen on this port (HTTP)"),
        Option(name="allow-remote", about="let an address that is not loopback be used (HTTP)"),
        Option(name=IN_PROCESS.name, about="do without the daemon, in this process alone (HTTP)"),
    ),
    details="Without --stdio or --http, TRANSPORT, HOST and PORT of the environment decide.",
    examples=("switchboard serve --stdio", "switchboard serve --http --port 8081"),
)


class ServeReport(Report, frozen=True, kw_only=True, tag="switchboard.serve/1"):
    """An endpoint that listens from now on, and where its token is; never the token itself."""

    url: str
    token_from: str

    def lines(self, style: Style) -> Iterator[str]:
        yield f"serving on {style.bold(self.url)}"

    def notes(self, style: Style) -> Iterator[str]:
        yield f"clients show the bearer token of {self.token_from}"
        yield hint(style, "Ctrl-C stops it")


def run(request: Request) -> Report:
    arguments = request.arguments
    if arguments.has("stdio") and arguments.has("http"):
        raise UsageError("`--stdio` and `--http` exclude each other")
    transport = next((name for name in ("stdio", "http") if arguments.has(name)), None)
    settings, load = followed_settings(
        request,
        transport=transport,
        host=arguments.one("host"),
        port=arguments.one("port"),
        allow_remote="1" if arguments.has("allow-remote") else None,
    )
    if settings.listener.transport == "stdio":
        _refuse_http_options(request)
        return Silent(code=run_loop(serve_stdio(settings, request.environ, load=load)))
    try:
        client = attach(request)
    except Stranded as stranded:
        request.talk.say(f"warning: {stranded}; serving in this process instead")
        client = None
    if client is not None:
        return _attached(request, settings, client)
    # The HTTP stack is large, and a client that launches us waits for every import.
    from switchboard.daemon.serve_http import serve_http  # noqa: PLC0415

    def ready(url: str) -> None:
        request.show(_report(request, settings, url))

    return Silent(code=run_loop(serve_http(settings, request.environ, ready=ready, load=load)))


def _attached(request: Request, settings: Settings, client: BoardClient) -> Report:
    """Have the daemon serve a socket of ours for as long as we run."""
    # As above: stdio does without.
    from switchboard.surface.http.listener import bind, url_of  # noqa: PLC0415
    from switchboard.surface.http.token import bearer_token  # noqa: PLC0415

    listener = settings.listener
    wanted = ListenRequest(host=listener.host, token=bearer_token(settings.home, request.environ))
    try:
        with bind(listener.host, listener.port, allow_remote=listener.allow_remote) as listening:
            client.listen(listening.fileno(), wanted)
            url = url_of(listening)
        try:
            with _signals():
                request.show(_report(request, settings, url))
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


def _report(request: Request, settings: Settings, url: str) -> "ServeReport":
    by_variable = f"${_TOKEN}" if request.environ.get(_TOKEN) else ""
    place = by_variable or os.path.join(settings.home, "http-token")
    return ServeReport(url=url, token_from=place)


def _refuse_http_options(request: Request) -> None:
    for name in ("host", "port", "allow-remote"):
        if request.arguments.has(name):
            raise UsageError(
                f"`--{name}` needs HTTP, and this serves stdio",
                f"switchboard serve --http --{name} …",
            )
