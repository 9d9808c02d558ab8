"""Is there a bubblewrap that works? If not, why, and what to do about it.

Nothing is guessed: the same namespaces and a filter are really made, once for each file that might
be bubblewrap. What does not work is tried again after a while, since a setting may have changed.
"""

import os
import re
import stat
import time
from collections.abc import Callable
from io import FileIO

from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.procs.trial import Trial, trial
from switchboard.sandbox.refusals import unavailable
from switchboard.sandbox.seccomp import MACHINES, seccomp_filter
from switchkit.platform.system import scratch_file

# Never from a search path and never from where we happen to be.
FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
_NAME = "bwrap"
_LIMIT_S = 2.0
_TRY_AGAIN_S = 10.0
_OLDEST = (0, 8)
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_INSTALL = (
    "install bubblewrap 0.8 or newer: `sudo apt-get install bubblewrap` (Debian, Ubuntu), "
    "`sudo dnf install bubblewrap` (Fedora), `sudo pacman -S bubblewrap` (Arch)"
)
_NAMESPACES = (
    "allow unprivileged user namespaces: `sysctl kernel.unprivileged_userns_clone` and "
    "`sysctl user.max_user_namespaces` must not be 0, on Ubuntu "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns` must be 0; in a container allow them "
    "in its seccomp profile and leave `/proc` unmasked"
)


class Bubblewrap(Struct, frozen=True, kw_only=True):
    """A bubblewrap that was tried and works."""

    path: str
    version: str
    machine: str


class Unusable(Struct, frozen=True, kw_only=True):
    """Why there is no sandbox, and what to do about it."""

    why: str
    fix: str

    def fault(self) -> Fault:
        """What whoever needs a sandbox gets instead."""
        return unavailable(self.why, self.fix)


class System(Struct, frozen=True, kw_only=True):
    """What we run on."""

    name: str
    machine: str
    release: str

    @classmethod
    def here(cls) -> "System":
        """This one."""
        found = os.uname()
        return cls(name=found.sysname, machine=found.machine, release=found.release)


class Probe:
    """Finds and tries bubblewrap, and remembers what came of it."""

    def __init__(
        self,
        *,
        folders: tuple[str, ...] = FOLDERS,
        owner: int = 0,
        system: System | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folders = folders
        self._owner = owner
        self._system = system or System.here()
        self._clock = clock
        self._known: dict[tuple[int, ...], Bubblewrap] = {}
        self._failed: tuple[float, tuple[int, ...], Unusable] | None = None

    def look(self) -> Bubblewrap | Unusable:
        """What there is now. Blocks for a moment the first time, never for more than seconds."""
        found = _wrong_system(self._system) or self._find()
        if isinstance(found, Unusable):
            return found
        path, key = found
        if (known := self._known.get(key)) is not None:
            return known
        if self._failed is not None:
            until, failed_key, why = self._failed
            if failed_key == key and self._clock() < until:
                return why
        result = _try_out(path, self._system.machine)
        if isinstance(result, Unusable):
            self._failed = (self._clock() + _TRY_AGAIN_S, key, result)
        else:
            self._known[key] = result
        return result

    def _find(self) -> tuple[str, tuple[int, ...]] | Unusable:
        for folder in self._folders:
            path = os.path.join(folder, _NAME)
            try:
                found = os.stat(path)
            except OSError:
                continue
            if not stat.S_ISREG(found.st_mode) or not found.st_mode & stat.S_IXUSR:
                continue
            if found.st_uid != self._owner or found.st_mode & _WRITABLE_BY_OTHERS:
                return Unusable(
                    why=f"`{path}` is not root's, or others may write it",
                    fix=f"install it anew, or: sudo chown root {path} && sudo chmod go-w {path}",
                )
            return path, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        return Unusable(why="bubblewrap is not installed", fix=_INSTALL)


def _wrong_system(system: System) -> Unusable | None:
    if system.name != "Linux":
        return Unusable(why="bubblewrap runs on Linux only", fix="use Linux or macOS")
    if system.machine not in MACHINES:
        return Unusable(
            why=f"there is no filter of system calls for `{system.machine}`",
            fix=f"run it on {' or '.join(MACHINES)}",
        )
    if system.release.endswith("-Microsoft"):
        return Unusable(why="WSL 1 has no namespaces", fix="convert the distribution to WSL 2")
    return None


def _try_out(path: str, machine: str) -> Bubblewrap | Unusable:
    """Run it with what every sandbox needs; what it runs is itself, telling its version."""
    with FileIO(scratch_file("seccomp"), "r+b") as file:
        file.write(seccomp_filter(MACHINES[machine], allow_network=False))
        file.seek(0)
        argv = (
            *(path, "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net"),
            *("--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session"),
            *("--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *("--ro-bind", "/proc/sys", "/proc/sys", "--seccomp", str(file.fileno())),
            *("--", path, "--version"),
        )
        result = _trial(argv, inherits=(file.fileno(),))
    if result.status == 0 and (version := _version(result.stdout)):
        return Bubblewrap(path=path, version=version, machine=machine)
    told = _version(_trial((path, "--version")).stdout)
    if told and tuple(map(int, told.split(".")[:2])) < _OLDEST:
        return Unusable(why=f"bubblewrap {told} is too old", fix=_INSTALL)
    if result.status is None:
        return Unusable(why=f"bubblewrap did not end within {_LIMIT_S:g} s", fix=_NAMESPACES)
    said = result.stderr.strip().splitlines()
    why = said[-1].removeprefix("bwrap: ") if said else f"it ended with status {result.status}"
    return Unusable(why=f"bubblewrap cannot make a sandbox here ({why})", fix=_NAMESPACES)


def _trial(argv: tuple[str, ...], inherits: tuple[int, ...] = ()) -> Trial:
    try:
        return trial(argv, timeout_s=_LIMIT_S, inherits=inherits)
    except OSError as error:
        return Trial(status=-1, stderr=str(error.strerror))


def _version(text: str) -> str:
    match = re.search(r"\d+(?:\.\d+)+", text)
    return match[0] if match else ""
