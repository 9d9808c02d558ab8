"""`switchboard codex`: in place of `codex mcp-server`, which Codex does not have any more.

`switchboard.entry` makes it an `mcp` that shows the two tools alone; what comes here is to be
served in this process.
"""

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.serving.mcp import run as serve
from switchkit.cli.usage import Option, Usage

USAGE = Usage(
    verb="codex",
    summary="Serve `codex` and `codex-reply` on stdin and stdout, as `codex mcp-server` did.",
    options=(
        Option(name="in-process", about="do without the daemon; so does SWITCHBOARD_IN_PROCESS=1"),
    ),
    details=(
        "Write `switchboard codex` where a client's configuration says `codex mcp-server`. The"
        " tools that lead to runs are there, too."
    ),
    examples=("claude mcp add codex -- switchboard codex",),
)


def run(request: CommandRequest) -> Report:
    return serve(request)
