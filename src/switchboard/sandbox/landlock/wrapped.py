"""The weaker sandbox of Linux: Landlock and a filter of system calls, without any namespace.

It serves where bubblewrap cannot work and the user has chosen it.
"""

import os
from collections.abc import Mapping

from msgspec.structs import replace

from switchboard.procs.kept import kept
from switchboard.procs.spawn import SpawnSpec
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.bubblewrap import LIMITS
from switchboard.sandbox.landlock.grants import grants
from switchboard.sandbox.landlock.orders import STARTER, written_orders
from switchboard.sandbox.landlock.probe import Landlock
from switchboard.sandbox.limits import most_processes, resource_limits
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.probe import Unusable
from switchboard.sandbox.roots import checked_roots
from switchboard.sandbox.seccomp import MACHINES
from switchboard.sandbox.walls.ground import shown_machine
from switchboard.sandbox.walls.scratch import Scratch
from switchkit.commands import resolved_command

NO_PROCESSES = Unusable(
    why="`processes` in `limits` needs bubblewrap, and only Landlock works here",
    fix="remove `processes`, or let bubblewrap work: `switchboard doctor`",
)


def wrapped_in_landlock(
    argv: tuple[str, ...], policy: SandboxPolicy, env: Mapping[str, str], landlock: Landlock
) -> Wrapped:
    """The command line that runs a program locked in. Raises a fault or OSError."""
    if most_processes(policy.limits) is not None:
        raise NO_PROCESSES.fault()
    command = resolved_command(argv[0], cwd=policy.cwd, path=policy.path)
    roots = checked_roots(policy, command, base=shown_machine())
    scratch = Scratch()
    try:
        orders = written_orders(
            (command, *argv[1:]),
            env={**env, **scratch.variables},
            cwd=roots.cwd,
            version=landlock.version,
            machine=MACHINES[landlock.machine],
            allow_network=policy.allow_network,
            grants=grants(roots, policy, scratch.path),
        )
        # There is no namespace with which everything inside would end, so a keeper sees to that.
        starting = SpawnSpec(argv=(*STARTER, str(orders.fileno())), cwd=os.sep, env={})
        wrapped = kept(starting)
    except BaseException:
        scratch.close()
        raise
    return replace(
        wrapped,
        inherits=(*wrapped.inherits, orders),
        limits=resource_limits(policy.limits, LIMITS),
        gate=scratch,
    )
