"""What we ask a client over HTTP. Its answers are posted, and known by their id."""

import asyncio
from collections.abc import Callable

from msgspec import UNSET, Raw

from switchboard.wire.messages import (
    INTERNAL_ERROR,
    Envelope,
    MessageId,
    Parts,
    RpcError,
    error_from_raw,
    notification_parts,
    request_parts,
)
from switchboard.wire.peer import CANCELLED, PeerLost
from switchboard.wire.pipes import Loss

# Beside a result, some clients write an error that is none.
_NULL = Raw(b"null")

MOST_WAITING = 256

Say = Callable[[Parts], None]


class Questions:
    """The questions of one session that wait for an answer. Their ids are ours alone."""

    def __init__(self) -> None:
        self._last_id = 0
        self._waiting: dict[MessageId, asyncio.Future[list[Envelope]]] = {}
        self._lost: Loss | None = None

    async def ask(self, say: Say, method: str, params: Parts) -> Raw:
        """Ask with `say` and wait. Cancelling the wait withdraws the question.

        Raises RpcError when the answer is an error, PeerLost when none can come any more.
        """
        if self._lost is not None:
            raise PeerLost(self._lost)
        if len(self._waiting) >= MOST_WAITING:
            raise RpcError(INTERNAL_ERROR, "too many questions wait for the client's answer")
        self._last_id += 1
        message_id = self._last_id
        future: asyncio.Future[list[Envelope]] = asyncio.get_running_loop().create_future()
        self._waiting[message_id] = future
        say(request_parts(message_id, method, params))
        try:
            # The loop holds the future until we wait again; emptied, it does not hold the message.
            envelope = (await future).pop()
        except asyncio.CancelledError:
            if self._waiting.pop(message_id, None) is not None:
                say(notification_parts(CANCELLED, (b'{"requestId":%d}' % message_id,)))
            raise
        if envelope.error and envelope.error != _NULL:
            raise error_from_raw(envelope.error)
        return envelope.result

    def take(self, envelope: Envelope) -> None:
        """Take an answer in. One to nothing that we asked, or a second one, is ignored."""
        if envelope.id is UNSET:
            return
        future = self._waiting.pop(envelope.id, None)
        if future is not None and not future.done():
            future.set_result([envelope])

    def lose(self, loss: Loss) -> None:
        """No answer will come any more."""
        self._lost = loss
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(PeerLost(loss))
