"""Requests of ours that wait for an answer. Who carries them, and how, is for the caller to say."""

import asyncio
from collections.abc import Callable

from msgspec import Raw

from switchboard.wire.messages import (
    CANCELLED,
    INTERNAL_ERROR,
    Envelope,
    MessageId,
    Parts,
    RpcError,
    error_from_raw,
    notification_parts,
    request_parts,
)
from switchboard.wire.pipes import Loss

# Beside a result, some peers write an error that is none.
_NULL = Raw(b"null")
NO_PARAMS: Parts = (b"{}",)
_MOST_OVERDUE = 64

Send = Callable[[Parts], None]


class PeerLost(Exception):
    """The other side went away before it answered."""

    def __init__(self, loss: Loss, *, was_sent: bool = True) -> None:
        super().__init__(loss.message)
        self.loss = loss
        # Whether the other side can have heard the request.
        self.was_sent = was_sent


class Pending:
    """The requests to one other side, by ids that are ours alone. `most` of them wait at once."""

    __slots__ = ("_loop", "_most", "_overdue", "_waiting", "lost", "next_id", "on_late")

    def __init__(self, *, most: int | None = None) -> None:
        # To ask for the running loop is a system call, and every request needs it.
        self._loop = asyncio.get_running_loop()
        self._most = most
        self._waiting: dict[MessageId, asyncio.Future[list[Envelope]]] = {}
        # The id that the next request will have.
        self.next_id = 1
        self.lost: Loss | None = None
        # Who wants to have the answer all the same, though it comes too late.
        self._overdue: dict[MessageId, Callable[[Raw], None]] = {}
        # Told of an answer that nobody waits for any more, or ever did.
        self.on_late: Callable[[MessageId], None] = lambda _: None

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, message_id: MessageId) -> bool:
        return message_id in self._waiting

    @property
    def ids(self) -> tuple[MessageId, ...]:
        """Those that wait."""
        return tuple(self._waiting)

    async def ask(self, send: Send, method: str, params: Parts = NO_PARAMS) -> Raw:
        """Send a request and wait. Cancelling the wait cancels the request at the other side.

        Raises RpcError when the answer is an error, PeerLost when none can come any more.
        """
        if self.lost is not None:
            raise PeerLost(self.lost, was_sent=False)
        waiting = self._waiting
        if self._most is not None and len(waiting) >= self._most:
            raise RpcError(INTERNAL_ERROR, "too many questions wait for an answer")
        message_id = self.next_id
        self.next_id = message_id + 1
        future: asyncio.Future[list[Envelope]] = self._loop.create_future()
        waiting[message_id] = future
        send(request_parts(message_id, method, params))
        try:
            # The loop holds the future until we wait again; emptied, it does not hold the message.
            envelope = (await future).pop()
        except asyncio.CancelledError:
            if waiting.pop(message_id, None) is not None:
                send(notification_parts(CANCELLED, (b'{"requestId":%d}' % message_id,)))
            raise
        if envelope.error and envelope.error != _NULL:
            raise error_from_raw(envelope.error)
        return envelope.result

    def only(self) -> MessageId:
        """The id of the only request that waits; None if there are several, or none."""
        return next(iter(self._waiting)) if len(self._waiting) == 1 else None

    def take(self, message_id: MessageId, envelope: Envelope) -> None:
        """Take an answer in. One to nothing that we asked, or a second one, says nothing."""
        future = self._waiting.pop(message_id, None)
        if future is None:
            tell = self._overdue.pop(message_id, None)
            if tell is not None and envelope.result:
                tell(envelope.result)
            self.on_late(message_id)
        elif not future.done():
            future.set_result([envelope])

    def when_late(self, message_id: MessageId, tell: Callable[[Raw], None]) -> None:
        """Have somebody given the result of a request that is not waited for any more.

        Of those that were given up last.
        """
        self._overdue[message_id] = tell
        if len(self._overdue) > _MOST_OVERDUE:
            del self._overdue[next(iter(self._overdue))]

    def fail(self, message_id: MessageId, error: Exception) -> None:
        """End one request with an error of our own: no answer to it can come any more."""
        future = self._waiting.pop(message_id, None)
        if future is not None and not future.done():
            future.set_exception(error)

    def lose(self, loss: Loss) -> None:
        """No answer will come any more, to any request."""
        self.lost = self.lost or loss
        self._overdue.clear()
        for message_id in tuple(self._waiting):
            self.fail(message_id, PeerLost(loss))
