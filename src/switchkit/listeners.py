"""Who holds a port."""

from collections.abc import Iterable
from typing import NamedTuple

from switchkit.platform.ports import holds
from switchkit.platform.system import command_line, pids


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
