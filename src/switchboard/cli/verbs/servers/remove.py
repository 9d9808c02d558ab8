"""`switchboard remove`: take a server out of a `mcp.json`, and its trust with it."""

import os
from collections.abc import Iterable, Iterator

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import places_for, settings_for
from switchboard.cli.verbs.parts.servers import entries, listed_servers
from switchboard.config.problems import ConfigInvalid, shown_path
from switchboard.config.writing import refuse_linked_folders
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.origins import Scope
from switchboard.settings.server_names import no_server
from switchboard.settings.trust import untrust
from switchboard.settings.writing.edit import remove_server
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="remove",
    summary="Take an MCP server away again.",
    words=(Word(name="NAME", about="the name of the server", is_name=True),),
    options=(Option(name="global", about="from your home, not from this workspace"),),
    examples=("switchboard remove time",),
)


class RemoveReport(Report, frozen=True, kw_only=True, tag="switchboard.remove/1"):
    """Where the server stood until now."""

    name: str
    path: str
    scope: str

    def lines(self, style: Style) -> Iterator[str]:
        yield f"removed {style.bold(self.name)} from {self.path}"


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    places = places_for(request)
    own = os.path.join(places.workspace, ".switchboard")
    files = [(Scope.HOME, places.home)]
    if not request.arguments.has("global"):
        files.insert(0, (Scope.WORKSPACE, own))
    for scope, folder in files:
        path = os.path.join(folder, "mcp.json")
        if scope is Scope.WORKSPACE:
            refuse_linked_folders(path, places.workspace)
        if os.path.lexists(path) and remove_server(path, name, scope=scope):
            _forget(request, name)
            shown = shown_path(path, workspace=places.workspace, user_home=places.user_home)
            return RemoveReport(name=name, path=shown, scope=scope)
    raise _elsewhere(request, name)


def _forget(request: CommandRequest, name: str) -> None:
    try:
        untrust(settings_for(request), [name])
    except ConfigInvalid:
        # A configuration that cannot be read trusts nothing either.
        return


def _elsewhere(request: CommandRequest, name: str) -> Fault:
    servers = listed_servers(settings_for(request))
    for server in servers:
        if server.name == name:
            return Fault(
                FaultCode.FAILED_PRECONDITION,
                "declared-elsewhere",
                f"`{name}` is not in this `mcp.json`: it is declared in `{server.origin}`",
                hint=f"remove it from `{server.origin}` yourself",
            )
    return no_server(name, [server.name for server in servers])


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (entry.name for entry in entries(settings_for(request)))
