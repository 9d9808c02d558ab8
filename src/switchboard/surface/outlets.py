"""The way out to a client."""

from typing import Protocol

from msgspec import Raw

from switchboard.wire.messages import Parts


class Outlet(Protocol):
    """How a client is told or asked something. A connection is one, and so is one response."""

    def notify(self, method: str, params: Parts, /) -> None:
        """Send a notification."""
        ...

    async def request(self, method: str, params: Parts, /) -> Raw:
        """Ask, and wait for the answer. Raises RpcError, or PeerLost when none can come."""
        ...
