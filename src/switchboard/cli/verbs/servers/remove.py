"""`switchboard remove`: take servers out of a `mcp.json`, and their trust with them."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from msgspec import Struct

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import places_for, settings_for
from switchboard.cli.verbs.parts.servers import entries, listed_servers
from switchboard.config.locate import Places
from switchboard.config.problems import ConfigInvalid, shown_path
from switchboard.config.writing import put_back_on_failure, refuse_linked_folders
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.origins import Scope
from switchboard.settings.server_names import no_server
from switchboard.settings.trust import untrust
from switchboard.settings.writing.edit import remove_server
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="remove",
    summary="Remove MCP servers.",
    words=(Word(name="NAME", about="the name of the server", is_name=True, many=True),),
    options=(Option(name="global", about="from your home, not from this workspace"),),
    details="Of several, either all are removed or none.",
    examples=("switchboard remove time", "switchboard remove time github"),
)


class RemovedServer(Struct, frozen=True, kw_only=True):
    """A server, and where it stood until now."""

    name: str
    path: str
    scope: str


class RemoveReport(Report, frozen=True, kw_only=True, tag="switchboard.remove/1"):
    """What is gone. Name, path and scope are those of the first."""

    name: str
    path: str
    scope: str
    servers: tuple[RemovedServer, ...]

    def lines(self, style: Style) -> Iterator[str]:
        for each in self.servers:
            yield f"removed {style.bold(each.name)} from {each.path}"


def run(request: CommandRequest) -> Report:
    places = places_for(request)
    files = [(Scope.HOME, os.path.join(places.home, "mcp.json"))]
    if not request.arguments.has("global"):
        own = os.path.join(places.workspace, ".switchboard", "mcp.json")
        refuse_linked_folders(own, places.workspace)
        files.insert(0, (Scope.WORKSPACE, own))
    wanted = tuple(dict.fromkeys(request.arguments.words))
    with ExitStack() as stack:
        for _, path in files:
            stack.enter_context(put_back_on_failure(path))
        gone = tuple(_removed(request, places, name, files) for name in wanted)
    _forget(request, wanted)
    first = gone[0]
    return RemoveReport(name=first.name, path=first.path, scope=first.scope, servers=gone)


def _removed(
    request: CommandRequest, places: Places, name: str, files: Iterable[tuple[Scope, str]]
) -> RemovedServer:
    """Take a server out of the first file that has it. Raises a fault where none does."""
    for scope, path in files:
        if os.path.lexists(path) and remove_server(path, name, scope=scope):
            shown = shown_path(path, workspace=places.workspace, user_home=places.user_home)
            return RemovedServer(name=name, path=shown, scope=scope)
    raise _elsewhere(request, name)


def _forget(request: CommandRequest, names: Iterable[str]) -> None:
    try:
        untrust(settings_for(request), list(names))
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
