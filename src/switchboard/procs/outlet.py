"""The one way out of a process that has no network of its own."""

from collections.abc import Awaitable, Callable, Mapping
from io import FileIO
from typing import Protocol

from msgspec import Struct

from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.network.egress import EgressHost
from switchboard.core.privacy.secrets import Redact


class Outlet(Struct, frozen=True, kw_only=True, eq=False):
    """What the start of a process needs so that it has one way out, which we hold.

    With a `handover` the first program inside opens a socket that listens on the loopback interface
    of the process's own network, and gives it to us through that. Without one we listen on a port
    of the machine, which is all of its network that the sandbox opens. What connects talks to us.
    """

    handover: FileIO | None
    port: int
    # Shown inside under these paths, to be read only. Where a sandbox cannot show what is not on
    # the disk they lie elsewhere, and variables that name them are changed.
    files: Mapping[str, bytes]
    # Why something was refused, once the process has failed.
    refused: Callable[[], Fault | None]


class WayOut(Protocol):
    """The way out of one process, for whoever starts it."""

    @property
    def env(self) -> Mapping[str, str]:
        """Variables that lead the process to it. They win over all others."""
        ...

    @property
    def outlet(self) -> Outlet:
        """What its start needs."""
        ...

    def attend(self, channel: Callable[[], Channel | None]) -> None:
        """The call that the process works for now is told where it waits for a person."""
        ...

    async def aclose(self) -> None:
        """End it, and every connection through it."""
        ...


class ReachingEntry(Protocol):
    """A server, or a command tool, with hosts that it may reach."""

    @property
    def name(self) -> str: ...
    @property
    def egress(self) -> tuple[EgressHost, ...]: ...
    @property
    def egress_ask(self) -> bool: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def fingerprint(self) -> str: ...


class OpenWayOut(Protocol):
    """Opens the way out of a process that is about to start."""

    def __call__(
        self,
        entry: ReachingEntry,
        environ: Mapping[str, str],
        look_up: Callable[[], Awaitable[Mapping[str, str]]],
        *,
        bound: str,
        runs: str,
        cwd: str,
        hide: Redact,
    ) -> WayOut:
        """With the environment of the session, and what looks up what is put on at the edge.

        `bound` is what the entry runs, as it is written: an answer for good holds for that. `runs`
        and `cwd` tell a person what it is about, without what `hide` takes out. Raises a fault.
        """
        ...
