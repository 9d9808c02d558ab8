"""The way out to a client."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Raw

from switchboard.core.calls.receipts import Receipt
from switchboard.wire.messages import MessageId, Parts


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

    @property
    def held(self) -> dict[MessageId, Receipt]:
        """Receipts of the calls that requests make: they are told how far the answers get.

        It costs so little that calls do it unasked, unlike to be told when the client has one.
        """
        ...

    def when_answered(self, message_id: MessageId, tell: Callable[[], None], /) -> None:
        """Have somebody told once the client has the answer to a request, which comes next.

        Nobody is told if it never gets there.
        """
        ...

    def when_told(self, tell: Callable[[], None], /) -> None:
        """Have somebody told once the client has all that it was told so far, if it ever has."""
        ...

    async def request(self, method: str, params: Parts, /) -> Raw:
        """Ask, and wait for the answer. Raises RpcError, or PeerLost when none can come."""
        ...
