"""`switchboard mcp`: what a client launches. Whatever the environment says, it speaks stdio.

`switchboard.entry` hands it to the shim before this module is read; what comes here is to be served
in this process.
"""

from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import followed_settings
from switchboard.daemon.serve import run as run_loop
from switchboard.daemon.serve import serve_stdio
from switchkit.cli.usage import Option, Usage

USAGE = Usage(
    verb="mcp",
    summary="Serve one client on stdin and stdout. This is the command that a client launches.",
    options=(
        Option(name="in-process", about="do without the daemon; so does SWITCHBOARD_IN_PROCESS=1"),
    ),
    details="It is served by the daemon, which is started if need be and shared with others.",
    examples=("claude mcp add switchboard -- switchboard mcp",),
)


def run(request: CommandRequest) -> Report:
    settings, load = followed_settings(request, transport="stdio")
    serving = serve_stdio(settings, request.environ, load=load, is_pinned=request.is_pinned)
    return Silent(code=run_loop(serving))
