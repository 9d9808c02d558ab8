"""`switchboard mcp`: what a client launches. Whatever the environment says, it speaks stdio."""

from switchboard.cli.options import Usage
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import Request
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.daemon.serve import run as run_loop
from switchboard.daemon.serve import serve_stdio
from switchboard.settings.sections import Settings

USAGE = Usage(
    verb="mcp",
    summary="Serve one client on stdin and stdout. This is the command that a client launches.",
    examples=("claude mcp add switchboard -- switchboard mcp",),
)


def run(request: Request) -> Report:
    def load() -> Settings:
        return settings_for(request, transport="stdio")

    return Silent(code=run_loop(serve_stdio(load(), request.environ, load=load)))
