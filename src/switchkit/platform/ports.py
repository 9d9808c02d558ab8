"""Who listens on a port."""

import sys
from collections.abc import Iterable
from typing import NamedTuple

from switchkit.platform import Unknown
from switchkit.platform.facts import command_line
from switchkit.platform.processes import pids

if sys.platform == "darwin":
    from switchkit.platform.darwin.ports import addresses, connected_user, holds, listening
else:
    from switchkit.platform.linux.ports import addresses, connected_user, holds, listening

__all__ = ["PortHolder", "addresses", "connected_user", "holder", "holds", "listening"]


class PortHolder(NamedTuple):
    """A process with a listening socket on a port."""

    pid: int
    command: str


def holder(inodes: set[int], among: Iterable[int] | None = None) -> PortHolder | None:
    """A process that has one of these sockets; looked for in `among`, or everywhere."""
    for pid in pids() if among is None else among:
        if holds(pid, inodes):
            return PortHolder(pid, command_line(pid))
    return None


def open_ports(pids: Iterable[int]) -> list[int]:
    """The ports that one of these processes listens on."""
    everyone = [*pids]
    try:
        table = listening()
    except Unknown:
        return []
    return sorted(
        port for port, sockets in table.items() if any(holds(pid, sockets) for pid in everyone)
    )
