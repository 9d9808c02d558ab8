"""The servers that one can log in to, by name."""

from collections.abc import Iterator

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import usable_for


def remote_names(request: CommandRequest) -> Iterator[str]:
    """Those that are reached over a network."""
    servers = usable_for(request).servers
    return (entry.name for entry in servers if entry.transport != "stdio")
