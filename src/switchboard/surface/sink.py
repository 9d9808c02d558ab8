"""The way out to a client."""

from typing import Protocol

from msgspec import Raw

from switchboard.wire.messages import Parts


class Sink(Protocol):
    """How a client is told or asked something. A connection is one, and so is one response."""

    def notify(self, method: str, params: Parts, /) -> None:
        """Send a notification."""
        ...

    @property
    def is_pressed(self) -> bool:
        """Whether the client has not read what it was sent so far."""
        ...

    async def relieved(self) -> None:
        """Wait until the client has read on, or is gone."""
        ...

    async def request(self, method: str, params: Parts, /) -> Raw:
        """Ask, and wait for the answer. Raises RpcError, or PeerLost when none can come."""
        ...
