"""The weaker sandbox of Linux: Landlock and a filter of system calls, without any namespace.

It serves where bubblewrap cannot work and the user has chosen it.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping

from msgspec.structs import replace

from switchboard.procs.kept import kept
from switchboard.procs.spawn import SpawnSpec
from switchboard.procs.wrapped import Vigil, Wrapped
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
from switchkit.commands import resolved_command

_TEMPORARY = ("TMPDIR", "TMP", "TEMP")


class _Scratch:
    """A temporary folder of one process alone, there from before its start to its end."""

    def __init__(self) -> None:
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="switchboard-"))
        self._is_used = False

    def pass_on(self) -> Vigil:
        self._is_used = True
        return _ScratchUse(self.path)

    def close(self) -> None:
        if not self._is_used:
            shutil.rmtree(self.path, ignore_errors=True)


def _silent() -> int:
    assert sys.platform == "linux"
    return os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)


class _ScratchUse:
    """There is nothing to watch: what was not opened at the start stays closed."""

    def __init__(self, path: str) -> None:
        self._path = path
        # Never to be read: nobody has to look now and then.
        self.handle: int | None = _silent()
        self.bell = None

    def look(self) -> None:
        """It can always go on."""

    def close(self) -> None:
        """The process has ended."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
        shutil.rmtree(self._path, ignore_errors=True)


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
    scratch = _Scratch()
    try:
        orders = written_orders(
            (command, *argv[1:]),
            env={**env, **dict.fromkeys(_TEMPORARY, scratch.path)},
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
