"""Every host that we know: its files, its spelling, and the entry that lets it work at its best.

What is not established of a host is left out rather than guessed. Deadlines are as long as a person
may take to answer; a host that has its own limit in the way is given a remark.
"""

from switchboard.hosts.host import Host
from switchboard.hosts.known.editors import EDITORS
from switchboard.hosts.known.terminals import TERMINALS
from switchboard.hosts.known.windows import WINDOWS

HOSTS: tuple[Host, ...] = (*TERMINALS, *EDITORS, *WINDOWS)


def host_named(name: str) -> Host | None:
    """The host of that id."""
    return next((host for host in HOSTS if host.id == name), None)
