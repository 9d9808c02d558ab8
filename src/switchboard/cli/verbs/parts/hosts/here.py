"""The hosts of this machine, and their entries for Switchboard."""

import os
from collections.abc import Iterator

from msgspec import Struct

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.hosts.plan import every_host, host_roots, hosts_here
from switchboard.config.itself import is_switchboard
from switchboard.config.locate import Places
from switchboard.hosts.change import OUR_NAME
from switchboard.providers.source import Finding
from switchkit.cli.columns import visible


class HostHere(Struct, frozen=True, kw_only=True):
    """A host of this machine, and whether it has an entry for Switchboard."""

    id: str
    title: str
    has_us: bool


def known_hosts(request: CommandRequest, places: Places) -> Iterator[HostHere]:
    """The hosts of this machine."""
    for each in hosts_here(every_host(host_roots(request, places)), request):
        servers = (server for file in each.files for server in file.servers)
        yield HostHere(
            id=each.host.id,
            title=each.host.title,
            has_us=any(server.name == OUR_NAME for server in servers),
        )


def dead_entries(request: CommandRequest, places: Places) -> Iterator[Finding]:
    """Entries of ours that start a Switchboard which is not there any more."""
    for host in every_host(host_roots(request, places)):
        for file in host.files:
            for server in file.servers:
                command = str(server.fields.get("command") or "")
                if not is_switchboard(server.name, command) or not os.path.isabs(command):
                    continue
                if not os.path.exists(command):
                    yield Finding(
                        severity="error",
                        subject=host.host.title,
                        message=f"it starts `{visible(command)}`, which is not there",
                        hint=f"switchboard install {host.host.id}",
                    )
