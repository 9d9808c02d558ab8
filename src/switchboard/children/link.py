"""An open way to a child: a peer to talk to and something to close."""

from collections.abc import Callable
from typing import Protocol

from switchboard.children.redaction import Redaction
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import LookedUp
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.wire.peer import Peer
from switchboard.wire.pipes import Pipe


class Link(Protocol):
    """An open way to a child."""

    @property
    def peer(self) -> Peer:
        """Whom to ask."""
        ...

    @property
    def pid(self) -> int:
        """The process, or 0 for a remote one."""
        ...

    @property
    def secrets(self) -> LookedUp | None:
        """What it was started with and cannot be told anew; nothing where there is no such."""
        ...

    @property
    def hidden(self) -> Redaction:
        """Values that no client may read in the child's words."""
        ...

    @property
    def trouble(self) -> str:
        """Why it does not lead there just now, for one that may lead there again."""
        ...

    @property
    def answered_at(self) -> float:
        """When the other side last answered, by the clock of the loop, where that is known."""
        ...

    def attend(self, channel: Callable[[], Channel | None]) -> None:
        """Whose call it works for now, where that is plain, for what a person has to be told."""
        ...

    async def doubt(self) -> Fault | None:
        """Once it has answered: why it may not be what was looked at before its start."""
        ...

    async def diagnosis(self) -> tuple[str, str]:
        """How it ended, for a client; and what only the log may know of it."""
        ...

    def denial(self) -> Fault | None:
        """Once it has ended: what its sandbox denied it, if that is why."""
        ...

    def appeared(self) -> tuple[str, ...]:
        """Once it has ended: the protected files that are there since it began, by name."""
        ...

    async def aclose(self) -> None:
        """End it."""
        ...


# Puts a peer at our end of a pipe: whoever opens a link does not know who will listen.
MakePeer = Callable[[Pipe], Peer]


class OpenLink(Protocol):
    """How a child is reached."""

    async def __call__(self, entry: ServerEntry, make_peer: MakePeer, *, timeout_s: float) -> Link:
        """Start or connect. Raises a fault."""
        ...
