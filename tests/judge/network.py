"""A network of its own for each part: namespaces on one bridge, whose links can be cut.

Nothing of it is in the namespace of the machine: the bridge, too, is in one of ours. Their names
hold the process that made them, so that what a killed one left behind is found and removed.
"""

import ctypes
import os
import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from support.processes import alive, wait_until_gone
from switchkit.processes import began

_PREFIX = "sbjudge"
_NAMED = re.compile(rf"{_PREFIX}-(\d+)-(\d+)-")
_PLACES = Path("/run/netns")
_CLONE_NEWNET = 0x40000000
_SECOND_S = 30.0


class NoNetwork(AssertionError):  # noqa: N818 - what a test is told
    """Namespaces cannot be made here, and why."""


def ip(*words: str) -> str:
    """Run iproute2. Raises NoNetwork with its words."""
    try:
        done = subprocess.run(
            ["ip", *words], capture_output=True, text=True, timeout=_SECOND_S, check=False
        )
    except FileNotFoundError:
        raise NoNetwork("`ip` is missing: apt-get install iproute2") from None
    if done.returncode != 0:
        raise NoNetwork(
            f"`ip {' '.join(words)}` failed: {done.stderr.strip()}; it takes root, or rather"
            " CAP_NET_ADMIN and CAP_SYS_ADMIN, and a kernel with network namespaces"
        )
    return done.stdout


def _names() -> list[str]:
    return sorted(each.name for each in _PLACES.iterdir()) if _PLACES.is_dir() else []


def _remove(name: str) -> None:
    """End whatever runs in a namespace of ours, and take its name away."""
    pids = [int(word) for word in ip("netns", "pids", name).split()]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until_gone(pids)
    ip("netns", "del", name)


def sweep() -> list[str]:
    """Remove the namespaces of those who are dead; gives their names."""
    left: list[str] = []
    for name in _names():
        found = _NAMED.match(name)
        if found is None:
            continue
        pid, start = map(int, found.groups())
        if alive(pid) and began(pid) == start:
            continue
        # Somebody else may sweep at the same time.
        with suppress(NoNetwork):
            _remove(name)
            left.append(name)
    return left


class Network:
    """The namespaces of one test."""

    def __init__(self) -> None:
        me = os.getpid()
        self.start = f"{_PREFIX}-{me}-{began(me)}"
        self._hub = self.name_of("hub")
        self._addresses: dict[str, str] = {}
        sweep()
        ip("netns", "add", self._hub)
        ip("-n", self._hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", self._hub, "link", "set", "bridge", "up")

    def name_of(self, part: str) -> str:
        return f"{self.start}-{part}"

    def add(self, part: str) -> str:
        """Make the namespace of a part, with a link to the bridge; gives its address."""
        name, port = self.name_of(part), f"p-{part}"
        address = f"10.77.0.{len(self._addresses) + 1}"
        self._addresses[part] = address
        ip("netns", "add", name)
        words = ("type", "veth", "peer", "name", "eth0", "netns", name)
        ip("-n", self._hub, "link", "add", port, *words)
        ip("-n", self._hub, "link", "set", port, "master", "bridge", "up")
        ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", name, "link", "set", device, "up")
        return address

    def address_of(self, part: str) -> str:
        return self._addresses[part]

    def command(self, part: str) -> list[str]:
        """How a program is run in the namespace of a part, and ends with these tests."""
        place = _PLACES / self.name_of(part)
        return ["nsenter", f"--net={place}", "setpriv", "--pdeathsig", "KILL", "--"]

    def cut(self, part: str) -> None:
        """Let nothing through from or to a part; nobody is told, and no link goes down."""
        ip("-n", self._hub, "link", "set", f"p-{part}", "nomaster")

    def heal(self, part: str) -> None:
        ip("-n", self._hub, "link", "set", f"p-{part}", "master", "bridge")

    def enter(self, part: str) -> None:
        """Have this thread, and whatever it starts, be in the namespace of a part."""
        libc = ctypes.CDLL(None, use_errno=True)
        file = os.open(_PLACES / self.name_of(part), os.O_RDONLY | os.O_CLOEXEC)
        try:
            if libc.setns(file, _CLONE_NEWNET) != 0:
                raise NoNetwork(f"setns: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(file)

    def close(self) -> None:
        """Remove all of it, and end whatever still runs there."""
        for name in _names():
            if name.startswith(f"{self.start}-"):
                _remove(name)


@contextmanager
def network() -> Generator[Network]:
    """Make one, and remove it however this ends."""
    made = Network()
    try:
        yield made
    finally:
        made.close()
