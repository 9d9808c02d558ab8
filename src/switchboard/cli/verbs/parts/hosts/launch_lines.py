"""How the servers that hosts name are started, by which their processes are known."""

from collections.abc import Iterator

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.hosts.plan import every_host, host_roots
from switchboard.cli.verbs.parts.loading import places_for, usable_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.core.origins import Scope
from switchboard.hosts.leftovers import LaunchLine


def launch_lines(request: CommandRequest) -> Iterator[LaunchLine]:
    """How servers are started: by the hosts, and, for those that have moved, by us."""
    places = places_for(request)
    for host in every_host(host_roots(request, places)):
        for file in host.files:
            # What a clone says is nobody's word about the processes of this machine.
            for server in file.servers if file.file.scope == "user" else ():
                if command := server.fields.get("command"):
                    args = tuple(str(each) for each in server.fields.get("args") or ())
                    yield LaunchLine(
                        host=host.host.title, server=server.name, command=str(command), args=args
                    )
    for entry in entries(usable_for(request)):
        if entry.command and entry.origin.scope is Scope.HOME:
            yield LaunchLine(
                host="a host", server=entry.name, command=entry.command, args=tuple(entry.args)
            )
