"""`switchboard mcp`: what a client launches. Whatever the environment says, it speaks stdio."""

from switchboard.cli.options import Usage
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import Request
from switchboard.cli.verbs.parts.loading import followed_settings
from switchboard.daemon.serve import run as run_loop
from switchboard.daemon.serve import serve_stdio

USAGE = Usage(
    verb="mcp",
    summary="Serve one client on stdin and stdout. This is the command that a client launches.",
    examples=("claude mcp add switchboard -- switchboard mcp",),
)


def run(request: Request) -> Report:
    settings, load = followed_settings(request, transport="stdio")
    return Silent(code=run_loop(serve_stdio(settings, request.environ, load=load)))
