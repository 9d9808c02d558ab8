"""Does Landlock confine here? A program that is locked in has to prove it."""

import os
import secrets
import sys
import tempfile
import time

from msgspec import Struct

from switchboard.procs.trial import Trial, trial
from switchboard.sandbox.landlock.grants import DEVICES
from switchboard.sandbox.landlock.orders import STARTER, written_orders
from switchboard.sandbox.landlock.rights import CHANGE, OLDEST, READ, reaches_others
from switchboard.sandbox.probe import System, Unusable
from switchboard.sandbox.seccomp import MACHINES

_LIMIT_S = 5.0
_TRY_AGAIN_S = 10.0
_NEWER = "run it on Linux 6.2 or newer, with `landlock` among the kernel's `lsm=`"
# Tries what must not be possible, and names what was. Its folder is the one place it may write.
_PROOF = """\
import os, sys, _socket
outside, inside, owner, scoped = sys.argv[1:]
def can(name, work):
    try:
        work()
    except OSError:
        return
    print(name)
can("read", lambda: print(open(outside).read()))
can("make", lambda: open(outside + ".new", "w"))
can("truncate", lambda: os.truncate(outside, 0))
can("remove", lambda: os.remove(outside))
can("inet", lambda: _socket.socket(_socket.AF_INET))
can("unix", lambda: _socket.socket(_socket.AF_UNIX))
can("environ", lambda: open(f"/proc/{owner}/environ").read())
if scoped == "1":
    can("signal", lambda: os.kill(int(owner), 0))
open(inside, "w").write("proved")
"""


class Landlock(Struct, frozen=True, kw_only=True):
    """A Landlock that was tried and works, by the version that the kernel speaks."""

    version: int
    machine: str

    @property
    def words(self) -> str:
        """As people are told of it."""
        more = ", and can signal your processes" if reaches_others(self.version) else ""
        return f"landlock (weaker than bubblewrap: it sees other processes{more})"


class LandlockProbe:
    """Tries Landlock, and remembers what came of it."""

    def __init__(self, system: System | None = None) -> None:
        self._system = system or System.here()
        self._known: Landlock | None = None
        self._failed: tuple[float, Unusable] | None = None

    def look(self) -> Landlock | Unusable:
        """What there is. Blocks for a moment the first time."""
        if self._known is not None:
            return self._known
        if self._failed is not None and time.monotonic() < self._failed[0]:
            return self._failed[1]
        found = self._try_out()
        if isinstance(found, Unusable):
            self._failed = (time.monotonic() + _TRY_AGAIN_S, found)
        else:
            self._known = found
        return found

    def _try_out(self) -> Landlock | Unusable:
        machine = self._system.machine
        if self._system.name != "Linux" or machine not in MACHINES:
            return Unusable(why="Landlock needs Linux on x86_64 or aarch64", fix=_NEWER)
        told = _trial(STARTER)
        version = int(told.stdout) if told.stdout.strip().isdigit() else 0
        if version < OLDEST:
            had = f"has version {version} of it" if version else "has none, or it is switched off"
            return Unusable(why=f"Landlock is too old: the kernel {had}", fix=_NEWER)
        found = Landlock(version=version, machine=machine)
        if (lack := _lack(found)) is not None:
            return Unusable(why=f"Landlock does not confine here ({lack})", fix=_NEWER)
        return found


def _lack(found: Landlock) -> str | None:
    """What a program that is locked in can do all the same."""
    with tempfile.TemporaryDirectory(prefix="switchboard-") as folder:
        real = os.path.realpath(folder)
        outside, room = os.path.join(real, "canary"), os.path.join(real, "room")
        word = secrets.token_hex(16)
        with open(outside, "x", encoding="ascii") as file:
            file.write(word)
        os.mkdir(room)
        proof = os.path.join(room, "proof")
        scoped = "0" if reaches_others(found.version) else "1"
        argv = (STARTER[0], "-I", "-S", "-c", _PROOF, outside, proof, str(os.getpid()), scoped)
        folders = ("/usr", "/lib", "/lib64", "/nix", "/gnu", sys.base_prefix, STARTER[0])
        read = [(os.path.realpath(each), READ) for each in folders]
        orders = written_orders(
            argv,
            env={},
            cwd=os.sep,
            version=found.version,
            machine=MACHINES[found.machine],
            allow_network=False,
            grants=[*read, ("/proc", READ), (room, CHANGE), *DEVICES],
        )
        with orders:
            result = _trial((*STARTER, str(orders.fileno())), inherits=(orders.fileno(),))
        if result.status != 0:
            said = result.stderr.strip().splitlines()
            return said[-1] if said else f"status {result.status}"
        with open(outside, encoding="ascii") as file:
            is_whole = file.read() == word
        if result.stdout.strip() or not is_whole or not os.path.exists(proof):
            return "a program inside could: " + " ".join(
                each for each in result.stdout.split() if each != word
            )
    return None


def _trial(argv: tuple[str, ...], inherits: tuple[int, ...] = ()) -> Trial:
    try:
        return trial(argv, timeout_s=_LIMIT_S, inherits=inherits)
    except OSError as error:
        return Trial(status=-1, stderr=str(error.strerror))
