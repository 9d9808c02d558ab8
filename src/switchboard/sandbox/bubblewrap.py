"""The sandbox of Linux: bubblewrap with a filter of our own.

The order of mounts is their depth, so that what is opened in a hidden folder comes after it.
"""

import os
import resource
from collections.abc import Mapping
from io import FileIO

from switchboard.procs.outlet import Outlet
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.limits import most_processes, resource_limits
from switchboard.sandbox.masks import SCRATCH, SCRATCH_BYTES
from switchboard.sandbox.outlets import opened_outlet, with_interpreter
from switchboard.sandbox.paths import depth, is_below, is_within
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.probe import Bubblewrap
from switchboard.sandbox.repositories import (
    PathGuard,
    guards,
    hidden_files,
    secrets_in,
)
from switchboard.sandbox.roots import Roots, checked_roots
from switchboard.sandbox.seccomp import MACHINES, seccomp_filter
from switchboard.sandbox.walls.inventory import inventory
from switchboard.sandbox.walls.mounts import Mount, MountPlan, planned
from switchboard.sandbox.walls.sockets import hidden_sockets, refuse_shared_network
from switchboard.sandbox.walls.verified import Checkpoint
from switchkit.commands import resolved_command
from switchkit.platform.files import scratch_file

NAMESPACES = (
    *("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-cgroup-try", "--hostname", "sandbox"),
    # The end of the thread that started it is its end (those of a loop's executor last as long as
    # the loop), and no terminal is its own.
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
EVERYTHING = ("--ro-bind", "/", "/")
KERNEL = (
    *("--proc", "/proc", "--dev", "/dev"),
    # Memory of the machine, and as much of it as there is, unless it has a size.
    *("--size", str(SCRATCH_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),  # noqa: S108
    # Sysctl asks for the user outside, so root inside could write what the kernel runs on a crash.
    *("--ro-bind", "/proc/sys", "/proc/sys"),
)
# Settings of the machine that root may write there, capabilities or not.
_ROOTS_OWN = tuple(
    f"/proc/{name}" for name in ("acpi", "bus", "driver", "fs", "irq", "scsi", "tty")
)

# What holds for everybody; an entry may ask for less.
LIMITS: Mapping[int, int] = {
    # A crash must not leave secrets in a file.
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_NOFILE: 65_536,
    resource.RLIMIT_FSIZE: 4 << 30,
}

# The loader and the C library obey these before a program's first line. Bubblewrap is outside of
# the sandbox, so it does not get them; the program inside does.
_LOADER = ("LD_", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "MALLOC_")
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
_TMP = "/tmp"  # noqa: S108


def wrapped_in_bubblewrap(
    argv: tuple[str, ...],
    confinement: SandboxPolicy,
    env: Mapping[str, str],
    bubblewrap: Bubblewrap,
    outlet: Outlet | None = None,
) -> Wrapped:
    """The command line that runs a program in a sandbox. Raises a fault or OSError."""
    command = resolved_command(argv[0], cwd=confinement.cwd, path=confinement.path)
    opened = None
    if confinement.has_own_sockets:
        refuse_shared_network(confinement)
    if outlet is not None:
        confinement, opened = with_interpreter(confinement), opened_outlet(outlet)
    roots = checked_roots(confinement, command)
    plan = mount_plan(roots, confinement)
    arguments = sandbox_arguments(confinement, plan, roots)
    outside, inside = _parted(_adapted(env, roots))
    for name, value in inside.items():
        # Told over a pipe: the command line is there for everybody to read.
        arguments += ["--setenv", name, value]
    if opened is not None:
        arguments += opened.arguments
    # Of a network in which nobody else is.
    has_sockets = opened is not None or confinement.has_own_sockets
    program = seccomp_filter(
        MACHINES[bubblewrap.machine],
        allow_network=confinement.allow_network or has_sockets,
        unix_sockets=confinement.has_own_sockets,
    )
    reading, writing = os.pipe()
    orders_to = FileIO(writing, "wb")
    given = FileIO(reading, "rb")
    seccomp = FileIO(scratch_file("seccomp"), "r+b")
    seccomp.write(program)
    seccomp.seek(0)
    checkpoint = Checkpoint(plan, most_processes(confinement.limits))
    arguments += ["--seccomp", str(seccomp.fileno()), *checkpoint.arguments()]
    return Wrapped(
        argv=(
            *(bubblewrap.path, "--args", str(given.fileno()), "--"),
            *(() if opened is None else opened.starter),
            *(command, *argv[1:]),
        ),
        env=outside,
        cwd=os.sep,
        inherits=(
            *(given, seccomp, *checkpoint.inherits),
            *(() if opened is None else opened.inherits),
        ),
        gate=checkpoint,
        orders=b"".join(os.fsencode(each) + b"\0" for each in arguments),
        orders_to=orders_to,
        limits=resource_limits(confinement.limits, LIMITS),
        is_walled=True,
    )


def sandbox_arguments(confinement: SandboxPolicy, plan: MountPlan, roots: Roots) -> list[str]:
    """What bubblewrap is told, apart from the command and the filter."""
    arguments = [*NAMESPACES]
    if not confinement.allow_network:
        arguments.append("--unshare-net")
    if roots.ground is None:
        return [*arguments, *EVERYTHING, *KERNEL, *plan.arguments(), "--chdir", roots.cwd]
    arguments += KERNEL
    for path in filter(os.path.isdir, _ROOTS_OWN):
        arguments += ["--ro-bind", path, path]
    for path, target in roots.ground.links:
        arguments += ["--symlink", target, path]
    # Folders that lead to a mount are made for it, so this is the last.
    return [*arguments, *plan.arguments(), "--remount-ro", os.sep, "--chdir", roots.cwd]


def mount_plan(roots: Roots, confinement: SandboxPolicy) -> MountPlan:
    """What is mounted where. Raises a fault."""
    mounts = _mounts(roots, confinement)
    return planned(each for path in sorted(mounts, key=depth) for each in mounts[path])


def _mounts(roots: Roots, confinement: SandboxPolicy) -> dict[str, list[Mount]]:
    """What is mounted where. A path has one entry, and what is opened wins over what is hidden."""
    writable = (*roots.writable, *roots.caches)
    opened = {*(place for place, _ in roots.readable), *writable, *roots.unchanging}
    shown = () if roots.ground is None else roots.ground.folders
    mounts = {path: [Mount("read-only", path, path)] for path in shown}
    mounts |= {path: [Mount("empty", path, size=size)] for path, size in _scratch()}
    mounts |= {path: [Mount("empty", path, size=SCRATCH_BYTES)] for path in roots.homes}
    emptied = frozenset(mounts) - frozenset(shown)
    for path in roots.hidden:
        above = [each for each in (*emptied, *opened) if is_below(path, each)]
        if above and max(above, key=depth) in emptied:
            continue
        # A folder that nobody may enter cannot show what is opened in it.
        around = any(is_below(each, path) for each in opened)
        hidden = Mount("empty", path, size=SCRATCH_BYTES) if around else Mount("hidden", path)
        mounts[path] = [hidden]
    asked_for = frozenset(map(os.path.realpath, confinement.read_roots))
    for place, real in roots.readable:
        mounts[place] = [Mount("read-only", place, real)]
        if place == real and not confinement.read_env_files:
            # Programs have none that matter, and many folders.
            is_asked = real in asked_for and os.path.isdir(real)
            files = inventory(real).secrets if is_asked else secrets_in(real)
            mounts[place] += [Mount("hidden", path) for path in files]
    for path in roots.unchanging:
        hidden = hidden_files(path, read_env_files=confinement.read_env_files)
        mounts[path] = [Mount("read-only", path, path), *(Mount("hidden", each) for each in hidden)]
    for path in roots.writable:
        found = guards(path, read_env_files=confinement.read_env_files)
        mounts[path] = [Mount("writable", path, path), *map(_guarding, found)]
    mounts |= {path: [Mount("writable", path, path)] for path in roots.caches}
    if confinement.has_own_sockets:
        for path, sockets in hidden_sockets(roots, confinement).items():
            mounts[path] += sockets
    return mounts


def _guarding(guard: PathGuard) -> Mount:
    match guard.kind:
        case "pinned":
            # A mount point cannot be renamed away and made anew.
            return Mount("pinned", guard.path, guard.path)
        case "protected":
            return Mount("read-only", guard.path, guard.path)
        case "hidden":
            return Mount("hidden", guard.path)


def _scratch() -> list[tuple[str, int]]:
    folders = [each for each in SCRATCH.items() if os.path.isdir(each[0])]
    # On most systems it is a link to `/run`.
    if os.path.isdir("/var/run") and not os.path.islink("/var/run"):
        folders.append(("/var/run", SCRATCH["/run"]))
    return folders


def _adapted(env: Mapping[str, str], roots: Roots) -> dict[str, str]:
    """The environment, with a temporary folder that can be written inside."""

    def fits(folder: str) -> bool:
        return folder in SCRATCH or any(
            is_within(folder, each) for each in (*roots.writable, *roots.caches)
        )

    return {
        name: _TMP if name in _TEMPORARY and not fits(value) else value
        for name, value in env.items()
    }


def _parted(env: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What bubblewrap may have of an environment, and what only the program inside may."""
    inside = {name: value for name, value in env.items() if name.startswith(_LOADER)}
    return {name: value for name, value in env.items() if name not in inside}, inside
