"""`switchboard serve`: the surface on stdio or over HTTP, until the client leaves or Ctrl-C."""

import os
from collections.abc import Iterator
from functools import partial

from switchboard.cli.render import hint, warning
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import followed_settings
from switchboard.cli.verbs.parts.team.numbers import whole_number
from switchboard.cli.verbs.parts.team.team_database import team_database
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError

_BY_VARIABLE = "SWITCHBOARD_DB=postgresql://… switchboard serve --http"
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
        Option(name="in-process", about="do without the daemon, in this process alone (HTTP)"),
        Option(
            name="db",
            value="URL",
            about="be a gateway of a team whose state is in this PostgreSQL (HTTP)",
        ),
        Option(name="name", value="HOST", about="clients reach it under this name (with --db)"),
        Option(name="reached-at", value="URL", about="other gateways reach it here (with --db)"),
        Option(
            name="drain",
            value="SECONDS",
            about="let calls go on for so long after it is asked to stop (60; with --db)",
        ),
        Option(
            name="linger",
            value="SECONDS",
            about="stay reachable for so long after it says that it stops (5; with --db)",
        ),
        Option(
            name="metrics",
            value="PLACE",
            about="show metrics at this port of the machine, or at HOST:PORT (with --db)",
        ),
    ),
    details="Without --stdio or --http, TRANSPORT, HOST and PORT of the environment decide."
    " A database with a password is named by SWITCHBOARD_DB, which every user of the machine cannot"
    " read as they can a command line.",
    examples=("switchboard serve --stdio", "switchboard serve --http --port 8081"),
)


class ServeReport(Report, frozen=True, kw_only=True, tag="switchboard.serve/1"):
    """An endpoint that listens from now on, and where its token is; never the token itself."""

    url: str
    token_from: str
    # Of the daemon, when it serves; and what it has written there already of the configuration.
    log: str = ""
    warnings: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        yield f"serving on {style.bold(self.url)}"

    def notes(self, style: Style) -> Iterator[str]:
        for each in self.warnings:
            yield warning(style, each)
        yield f"clients show the bearer token of {self.token_from}"
        if self.log:
            yield f"the daemon serves it, and writes to its own log, {self.log}"
            yield hint(style, "switchboard daemon logs")
        yield hint(style, "Ctrl-C stops it")


def run(request: CommandRequest) -> Report:
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
    # Of the three ways, only what the chosen one needs is loaded: whoever starts us waits for it.
    if settings.listener.transport == "stdio":
        _refuse_http_options(request)
        from switchboard.daemon.serve import run as run_loop  # noqa: PLC0415
        from switchboard.daemon.serve import serve_stdio  # noqa: PLC0415

        serving = serve_stdio(
            settings,
            request.environ,
            load=partial(load, settings.workspace),
            load_tree=load,
            is_pinned=request.is_pinned,
        )
        return Silent(code=run_loop(serving))
    by_variable = f"${_TOKEN}" if request.environ.get(_TOKEN) else ""
    token_from = by_variable or os.path.join(settings.home, "http-token")

    def show(url: str, log: str = "") -> None:
        warnings = tuple(map(str, settings.warnings)) if log else ()
        request.show(ServeReport(url=url, token_from=token_from, log=log, warnings=warnings))

    if database := team_database(request, _BY_VARIABLE):
        limit = float(whole_number(request, "drain", otherwise=60, least=0, most=86_400))
        linger = float(whole_number(request, "linger", otherwise=5, least=0, most=600))
        from switchboard.daemon.serve import run as run_loop  # noqa: PLC0415
        from switchboard.daemon.team.serving import serve_team  # noqa: PLC0415

        team = serve_team(
            settings,
            request.environ,
            database,
            names=tuple(filter(None, (arguments.one("name") or "").split(","))),
            reached_at=arguments.one("reached-at") or "",
            metrics=arguments.one("metrics") or "",
            linger_s=linger,
            drain_s=limit,
            ready=show,
            load=partial(load, settings.workspace),
            is_pinned=request.is_pinned,
        )
        return Silent(code=run_loop(team))
    if not request.is_in_process:
        from switchboard.cli.verbs.parts.http_endpoint import serve_attached  # noqa: PLC0415

        if serve_attached(request, settings, show):
            return Silent()
    from switchboard.daemon.serve import run as run_loop  # noqa: PLC0415
    from switchboard.daemon.serve_http import serve_http  # noqa: PLC0415

    listening = serve_http(
        settings,
        request.environ,
        ready=show,
        load=partial(load, settings.workspace),
        load_tree=load,
        is_pinned=request.is_pinned,
    )
    return Silent(code=run_loop(listening))


def _refuse_http_options(request: CommandRequest) -> None:
    for name in (
        "host",
        "port",
        "allow-remote",
        "db",
        "name",
        "reached-at",
        "drain",
        "linger",
        "metrics",
    ):
        if request.arguments.has(name):
            raise UsageError(
                f"`--{name}` needs HTTP, and this serves stdio",
                f"switchboard serve --http --{name} …",
            )
