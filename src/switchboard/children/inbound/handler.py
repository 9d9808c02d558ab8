"""Who takes in what a child says by itself."""

from typing import Protocol

from msgspec import Raw

from switchboard.wire.messages import MessageId, Parts
from switchboard.wire.peer import Answer


class InboundHandler(Protocol):
    """Takes in what a child says by itself."""

    def request(self, method: str, params: Raw, message_id: MessageId, /) -> "Parts | Answer":
        """Answer a request, at once or later."""
        ...

    def notification(self, method: str, params: Raw, /) -> None:
        """Take in a notification."""
        ...
