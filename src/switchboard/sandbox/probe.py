"""Is there a bubblewrap that works? If not, why, and what to do about it.

Nothing is guessed: the same namespaces and a filter are really made, once for each file that might
be bubblewrap. What does not work is tried again after a while, since a setting may have changed.
"""

import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Callable
from io import FileIO

from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.procs.trial import Trial, trial
from switchboard.sandbox.refusals import unavailable
from switchboard.sandbox.seccomp import MACHINES, seccomp_filter
from switchkit.platform.files import scratch_file

# Never from a search path and never from where we happen to be.
FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
_NAME = "bwrap"
_LIMIT_S = 5.0
_TRY_AGAIN_S = 10.0
_OLDEST = (0, 8)
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_INSTALL = (
    "install bubblewrap 0.8 or newer: `sudo apt-get install bubblewrap` (Debian, Ubuntu), "
    "`sudo dnf install bubblewrap` (Fedora), `sudo pacman -S bubblewrap` (Arch)"
)
_IN_A_CONTAINER = (
    "allow unprivileged user namespaces; in a container pass `--security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined` to `docker run`, or "
    "`--security-opt seccomp=unconfined --security-opt unmask=ALL` to `podman run`"
)
_APPARMOR = "kernel.apparmor_restrict_unprivileged_userns"
# As Ubuntu has it switched on from 25.04.
_PROFILE = (
    "allow it to bubblewrap alone: `sudo apt-get install apparmor-profiles && sudo cp"
    " /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo"
    " systemctl reload apparmor`"
)
# A setting of the kernel, the value that forbids what bubblewrap needs, and who has it so.
_FORBIDDING = (
    (_APPARMOR, "1", "0", "AppArmor forbids it user namespaces, as on Ubuntu since 23.10"),
    ("kernel.unprivileged_userns_clone", "0", "1", "the kernel forbids user namespaces"),
    ("user.max_user_namespaces", "0", "15000", "the kernel allows no user namespaces"),
)
# Tells of each namespace which one it is in, then what it can read, then its networks.
_PROOF = (
    "for each in mnt pid net user ipc; do readlink /proc/self/ns/$each; done; "
    'cat "$1"; while read -r name rest; do echo "net $name"; done < /proc/net/dev'
)
_NAMESPACES = ("mnt", "pid", "net", "user", "ipc")
_LOOPBACK = "net lo:"


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
        limit_s: float = _LIMIT_S,
        setting: Callable[[str], str] | None = None,
    ) -> None:
        self._folders = folders
        self._owner = owner
        self._system = system or System.here()
        self._clock = clock
        self._limit_s = limit_s
        self._setting = setting or _kernel_setting
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
        result = self._try_out(path, self._system.machine)
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
                    fix=f"reinstall it, or: sudo chown root {path} && sudo chmod go-w {path}",
                )
            return path, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        return Unusable(why="bubblewrap is not installed", fix=_INSTALL)

    def _try_out(self, path: str, machine: str) -> Bubblewrap | Unusable:
        """Have it make what every sandbox needs; a program inside proves that it did."""
        told = self._trial((path, "--version"))
        version = _version(told.stdout)
        if version and tuple(map(int, version.split(".")[:2])) < _OLDEST:
            return Unusable(why=f"bubblewrap {version} is too old", fix=_INSTALL)
        with tempfile.TemporaryDirectory(prefix="switchboard-") as folder:
            canary = os.path.join(folder, "canary")
            word = secrets.token_hex(16)
            with open(canary, "x", encoding="ascii") as file:
                file.write(word)
            result = self._confined(path, machine, canary)
        if result.status is None:
            return self._unusable(f"bubblewrap did not end within {self._limit_s:g} s")
        if result.status != 0 or not version:
            said = result.stderr.strip().splitlines()
            why = said[-1].removeprefix("bwrap: ") if said else f"status {result.status}"
            return self._unusable(f"bubblewrap cannot make a sandbox here ({why})")
        if (lack := _lack(result.stdout, word)) is not None:
            return Unusable(
                why=f"`{path}` does not confine what it runs ({lack})", fix=f"re{_INSTALL}"
            )
        return Bubblewrap(path=path, version=version, machine=machine)

    def _confined(self, path: str, machine: str, canary: str) -> Trial:
        folder = os.path.dirname(canary)
        with FileIO(scratch_file("seccomp"), "r+b") as file:
            file.write(seccomp_filter(MACHINES[machine], allow_network=False))
            file.seek(0)
            argv = (
                *(path, "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net"),
                *("--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session"),
                *("--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
                *("--ro-bind", "/proc/sys", "/proc/sys", "--perms", "000", "--tmpfs", folder),
                *("--seccomp", str(file.fileno()), "--", "/bin/sh", "-c", _PROOF, "sh", canary),
            )
            return self._trial(argv, inherits=(file.fileno(),))

    def _trial(self, argv: tuple[str, ...], inherits: tuple[int, ...] = ()) -> Trial:
        path = f"/usr/bin:/bin:{FOLDERS[-1]}"
        try:
            return trial(argv, timeout_s=self._limit_s, inherits=inherits, env={"PATH": path})
        except OSError as error:
            return Trial(status=-1, stderr=str(error.strerror))

    def _unusable(self, why: str) -> Unusable:
        for name, forbids, allows, who in _FORBIDDING:
            if self._setting(name) == forbids:
                fix = f"one command allows it: `sudo sysctl -w {name}={allows}`"
                if name == _APPARMOR:
                    fix = f"{_PROFILE}; or, for every program of the machine, {fix[4:]}"
                return Unusable(why=f"{why}: {who} (`{name} = {forbids}`)", fix=fix)
        return Unusable(why=why, fix=_IN_A_CONTAINER)


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


def _lack(said: str, word: str) -> str | None:
    """What is missing in a sandbox by the words of a program in it."""
    if word in said:
        return "a program inside reads what is hidden"
    lines = said.splitlines()
    for name in _NAMESPACES:
        inside = [line for line in lines if line.startswith(f"{name}:[")]
        try:
            own = os.readlink(f"/proc/self/ns/{name}")
        except OSError:
            return f"the kernel does not tell our own `{name}` namespace"
        if len(inside) != 1 or inside[0] == own:
            return f"no `{name}` namespace of its own"
    # The first two lines name the columns.
    networks = [line for line in lines if line.startswith("net ") and line.endswith(":")]
    if networks != [_LOOPBACK]:
        return "a program inside has a network"
    return None


def _kernel_setting(name: str) -> str:
    try:
        with open(f"/proc/sys/{name.replace('.', '/')}", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _version(text: str) -> str:
    match = re.search(r"(?<!\d)\d++(?:\.\d++)++", text)
    return match[0] if match else ""
