"""`switchboard list`: the configured servers. Starts none of them."""

import shlex
from collections.abc import Iterator

from switchboard.cli.options import Usage
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import Request
from switchboard.cli.style import Style
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.servers import ListedServer, listed_servers
from switchboard.settings.validate import RENAME

USAGE = Usage(
    verb="list",
    summary="Show the configured servers: their suites, where they come from, and their trust.",
    details="No server is started.",
)

_TRUST = {"own": "yours", "trusted": "trusted", "waiting": "NOT TRUSTED"}


class ListReport(Report, frozen=True, kw_only=True, tag="switchboard.list/1"):
    """Every server."""

    workspace: str
    servers: tuple[ListedServer, ...]

    def lines(self, style: Style) -> Iterator[str]:
        if not self.servers:
            return
        heads = ("SERVER", "SUITE", "TRANSPORT", "TRUST", "FROM", "RUNS")
        rows = [
            (
                server.name,
                server.suite,
                server.transport,
                "LEFT OUT" if server.left_out else _TRUST[server.trust],
                server.origin,
                server.target,
            )
            for server in self.servers
        ]
        yield from columns(heads, rows, style)

    def notes(self, style: Style) -> Iterator[str]:
        if not self.servers:
            yield "no server is configured"
            yield hint(style, "switchboard add NAME -- COMMAND")
        left_out = [server for server in self.servers if server.left_out]
        if left_out:
            yield ""
            yield from (f"left out: {each.name}: {each.left_out}" for each in left_out)
            yield hint(style, RENAME)
        waiting = [
            server.name
            for server in self.servers
            if server.trust == "waiting" and not server.left_out
        ]
        if waiting:
            yield ""
            yield hint(style, f"switchboard trust {shlex.join(waiting)}")


def run(request: Request) -> Report:
    settings = settings_for(request)
    return ListReport(workspace=settings.workspace, servers=listed_servers(settings))
