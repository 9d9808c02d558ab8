"""Keeps a program that may make Unix sockets from those of the host.

Its own network hides abstract ones, its mounts those with a path. What is left are the folders of
the host that are opened in its sandbox: a socket in one of them could be connected to, on a
read-only mount too. So each is hidden, as far as it is there at the start.
"""

import sys

from switchboard.core.faults import Fault, FaultCode
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.refusals import refused_root
from switchboard.sandbox.roots import Roots
from switchboard.sandbox.walls.inventory import inventory
from switchboard.sandbox.walls.mounts import Mount
from switchkit.platform.paths import true_path

_MOST = 100


def refuse_shared_network(confinement: SandboxPolicy) -> None:
    """On the network of the host everybody reaches the abstract sockets of the desktop."""
    if confinement.allow_network:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "sandbox-features",
            "`browser` in `sandbox_features` needs a network of its own, and `allow_network` "
            "shares that of the machine, where the desktop listens on sockets without a path",
            hint="remove `allow_network`, and list the hosts that it may reach in `egress`",
        )


def hidden_sockets(roots: Roots, confinement: SandboxPolicy) -> dict[str, list[Mount]]:
    """What hides the sockets of each opened folder. Raises a fault where not all are found."""
    own = true_path(confinement.state_dir) if confinement.state_dir else ""
    # Our interpreter is among them, and needs no more than the folders of other programs.
    asked_for = {*map(true_path, confinement.read_roots)} - {true_path(sys.base_prefix)}
    named = {*roots.writable, *roots.unchanging} - {own}
    found = {
        path: [Mount("hidden", each) for each in _sockets(path, is_named=True)] for path in named
    }
    for place, real in roots.readable:
        # Through a link too: it is mounted there once more.
        below = _sockets(real, is_named=real in asked_for)
        found[place] = [Mount("hidden", place + each.removeprefix(real), each) for each in below]
    return found


def _sockets(folder: str, *, is_named: bool) -> list[str]:
    below = inventory(folder)
    if len(below.sockets) > _MOST or (is_named and not below.is_whole):
        raise refused_root(
            "a folder that is opened is too large to be searched for sockets of other programs",
            "open a part of it",
            folder,
        )
    return below.sockets
