"""Who takes in what a child says by itself."""

from typing import Protocol

from msgspec import Raw

from switchboard.wire.messages import METHOD_NOT_FOUND, MessageId, Parts, RpcError
from switchboard.wire.peer import Answer


class InboundHandler(Protocol):
    """Takes in what a child says by itself."""

    def request(self, method: str, params: Raw, message_id: MessageId, /) -> "Parts | Answer":
        """Answer a request, at once or later."""
        ...

    def notification(self, method: str, params: Raw, /) -> None:
        """Take in a notification."""
        ...


class LastProcess:
    """Listens to the process of a child that was started last.

    One that is being ended still has a moment to speak. What it says is about calls that the next
    one has never heard of, whose sessions would be taken for those that it means.
    """

    def __init__(self, inbound: InboundHandler) -> None:
        self._inbound = inbound
        self._last: InboundHandler | None = None

    def next(self) -> InboundHandler:
        """The ear for another process; those before it are heard no more."""
        self._last = process = _OneProcess(self)
        return process

    def hears(self, process: InboundHandler) -> InboundHandler | None:
        """Who takes in what this process says, if anybody does."""
        return self._inbound if process is self._last else None


class _OneProcess:
    def __init__(self, last: LastProcess) -> None:
        self._last = last

    def request(self, method: str, params: Raw, message_id: MessageId, /) -> "Parts | Answer":
        inbound = self._last.hears(self)
        if inbound is None:
            raise RpcError(METHOD_NOT_FOUND, f"`{method}`: another process has taken over")
        return inbound.request(method, params, message_id)

    def notification(self, method: str, params: Raw, /) -> None:
        inbound = self._last.hears(self)
        if inbound is not None:
            inbound.notification(method, params)
