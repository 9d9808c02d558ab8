"""One JSON-RPC peer: its pending requests, requests under way, cancellation both ways.

It knows the envelope and `notifications/cancelled`, and nothing else of MCP.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from switchboard.core.loop.tasks import TaskSet
from switchboard.wire.messages import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    Envelope,
    MessageId,
    Parts,
    RpcError,
    cancelled_id,
    cancelled_reason,
    error_parts,
    notification_parts,
    read_batch,
    read_envelope,
    result_parts,
)
from switchboard.wire.pending import NO_PARAMS, Pending
from switchboard.wire.pipes import Loss, Pipe
from switchboard.wire.unreadable import asked_by, is_text, mended

Answer = Coroutine[Any, Any, Parts]
# Returns the result at once, or a coroutine that will; raises RpcError to answer with an error.
OnRequest = Callable[[str, Raw, MessageId], "Parts | Answer"]
OnNotification = Callable[[str, Raw], None]
OnLost = Callable[[Loss], None]
OnJunk = Callable[[bytes], None]
# Told that the answer to a request was handed to the pipe.
OnAnswered = Callable[[MessageId], None]
# Asked about a request that nobody waits for any more: whether it is gone on with all the same. It
# is given the words of whoever cancelled it, nothing where the other side is gone.
GoesOn = Callable[[MessageId, "str | None"], bool]


# To find out what is wrong with more than this would hold everybody up.
_MOST_LOOKED_AT = 1024 * 1024


class Peer:
    """The other side of a pipe."""

    def __init__(
        self,
        pipe: Pipe,
        *,
        on_request: OnRequest,
        on_notification: OnNotification | None = None,
        on_lost: OnLost | None = None,
        on_junk: OnJunk | None = None,
        on_answered: OnAnswered | None = None,
        goes_on: GoesOn | None = None,
        throttled: bool = False,
    ) -> None:
        self._pipe = pipe
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_lost = on_lost
        self._on_junk = on_junk
        self._on_answered = on_answered
        self._goes_on = goes_on
        # Those that are gone on with, and that nobody is answered.
        self.left_behind = TaskSet()
        self._throttled = throttled
        self._loop = asyncio.get_running_loop()
        # What we asked. Over HTTP each request travels, and fails, on its own.
        self.pending = Pending()
        # Asks the other side; see `Pending.ask`. As a method it would cost every call a frame.
        self.request = partial(self.pending.ask, pipe.send)
        # The tasks are ours: each takes itself out as its last act.
        self._under_way: dict[MessageId, tuple[asyncio.Task[None], Answer]] = {}
        # Which request of ours the message being received belongs to, where the pipe can tell.
        self.about: MessageId = None
        # How many messages came.
        self.heard = 0
        self._pressed_until: asyncio.Future[None] | None = None

    def notify(self, method: str, params: Parts = NO_PARAMS) -> None:
        """Send a notification."""
        self._pipe.send(notification_parts(method, params))

    # What we are asked

    def receive(self, message: bytes) -> None:
        """Take in one message, or a batch of them. A batch in a batch is no message."""
        self.heard += 1
        if not message.isascii() and not is_text(message):
            self._receive_junk(message)
            return
        if message[:1] == b"[":
            try:
                batch = read_batch(message)
            except (msgspec.MsgspecError, RecursionError):
                batch = []
            for part in batch:
                self._receive_one(bytes(part))
            if batch:
                return
        self._receive_one(message)

    def _receive_one(self, message: bytes) -> None:
        try:
            envelope = read_envelope(message)
        except RecursionError:
            self._receive_deep(message)
            return
        except msgspec.MsgspecError:
            whole = mended(message)
            if whole != message:
                self._receive_one(whole)
            else:
                self._receive_junk(message)
            return
        if envelope.method is not UNSET:
            self._receive_call(envelope)
        elif envelope.id is not UNSET:
            self.pending.take(envelope.id, envelope)
        else:
            self._receive_junk(message)

    def _receive_junk(self, message: bytes) -> None:
        if self._on_junk is not None:
            self._on_junk(message)
            return
        # A client that sends junk is told so; JSON-RPC wants `id: null` where none could be read.
        error = RpcError(PARSE_ERROR, "the message is not JSON")
        if not is_text(message):
            error = RpcError(PARSE_ERROR, "the message is not UTF-8")
        elif len(message) > _MOST_LOOKED_AT or _is_json(message):
            error = RpcError(INVALID_REQUEST, "the message is not a JSON-RPC request")
        self._pipe.send(error_parts(None, error))

    def _receive_deep(self, message: bytes) -> None:
        message_id = asked_by(message) if self._on_junk is None else None
        if message_id is None or message_id in self._under_way:
            self._receive_junk(message)
            return
        error = RpcError(INVALID_REQUEST, "the message is nested too deeply")
        self._pipe.send(error_parts(message_id, error))

    def _receive_call(self, envelope: Envelope) -> None:
        assert envelope.method is not UNSET
        if envelope.id is UNSET:
            if envelope.method == CANCELLED:
                message_id = cancelled_id(envelope.params)
                if message_id in self._under_way:
                    self._give_up(message_id, cancelled_reason(envelope.params))
            elif self._on_notification is not None:
                self._on_notification(envelope.method, envelope.params)
            return
        message_id = envelope.id
        if message_id in self._under_way:
            error = RpcError(INVALID_REQUEST, "a request with this id is still under way")
            self._pipe.send(error_parts(message_id, error))
            return
        try:
            answer = self._on_request(envelope.method, envelope.params, message_id)
        except RpcError as error:
            self._pipe.send(error_parts(message_id, error))
            return
        except Exception:  # noqa: BLE001 - as below; raised on, it would end the whole conversation
            self._pipe.send(error_parts(message_id, RpcError(INTERNAL_ERROR, "internal error")))
            return
        if isinstance(answer, tuple):
            self._pipe.send(result_parts(message_id, answer))
            return
        task = self._loop.create_task(self._answer(message_id, answer))
        self._under_way[message_id] = (task, answer)

    async def _answer(self, message_id: MessageId, answer: Answer) -> None:
        try:
            parts = result_parts(message_id, await answer)
        except RpcError as error:
            parts = error_parts(message_id, error)
        except Exception:  # noqa: BLE001 - the peer must get an answer whatever went wrong
            parts = error_parts(message_id, RpcError(INTERNAL_ERROR, "internal error"))
        finally:
            known = self._under_way.get(message_id)
            # By now the id may stand for another request.
            is_awaited = known is not None and known[1] is answer
            if is_awaited:
                del self._under_way[message_id]
        # A cancelled request never gets here: by the protocol it is not answered.
        if not is_awaited:
            return
        self._pipe.send(parts)
        if self._on_answered is not None:
            self._on_answered(message_id)

    def under_way(self) -> list[MessageId]:
        """The requests that are still to be answered."""
        return [each for each, (task, _) in self._under_way.items() if not task.cancelling()]

    def _give_up(self, message_id: MessageId, reason: str | None) -> None:
        """Nobody waits for the answer."""
        if self._goes_on is not None and self._goes_on(message_id, reason):
            self.left_behind.take(self._under_way.pop(message_id)[0])
        else:
            self._cancel(message_id)

    def _cancel(self, message_id: MessageId) -> None:
        task, answer = self._under_way[message_id]
        task.cancel()
        # Cancelled before its first step it runs nothing, not even what cleans up behind it.
        task.add_done_callback(lambda _: self._forget(message_id, answer))

    def _forget(self, message_id: MessageId, answer: Answer) -> None:
        answer.close()
        # By now the id may stand for another request.
        if message_id in self._under_way and self._under_way[message_id][1] is answer:
            del self._under_way[message_id]

    # The pipe's news

    def press(self, on: bool) -> None:
        """While a client does not read our answers, we do not read its requests.

        A child is not throttled: it may be waiting for us to read before it reads again.
        """
        if on and self._pressed_until is None and self.pending.lost is None:
            self._pressed_until = self._loop.create_future()
        elif not on:
            self._relieve()
        if not self._throttled:
            return
        if on:
            self._pipe.pause()
        else:
            self._pipe.resume()

    @property
    def is_pressed(self) -> bool:
        """Whether the other side has not read what it was sent so far."""
        return self._pressed_until is not None

    async def relieved(self) -> None:
        """Wait until the other side has read on, or is gone."""
        if self._pressed_until is not None:
            await asyncio.shield(self._pressed_until)

    def _relieve(self) -> None:
        pressed, self._pressed_until = self._pressed_until, None
        if pressed is not None:
            pressed.set_result(None)

    def retire(self, loss: Loss) -> None:
        """Nothing can be asked any more. What was asked before may still be answered."""
        if self.pending.lost is None:
            self.pending.lost = loss
            if self._on_lost is not None:
                self._on_lost(loss)

    def lose(self, loss: Loss) -> None:
        """The other side is gone: nothing waits for it, and nothing works for it."""
        was_lost = self.pending.lost is not None
        self.pending.lose(loss)
        if was_lost:
            return
        self._relieve()
        if self._throttled and loss.reason == "too-large":
            # The last word to a client, whose message nobody can tell the id of.
            self._pipe.send(error_parts(None, RpcError(INVALID_REQUEST, loss.message)))
        for message_id in tuple(self._under_way):
            self._give_up(message_id, None)
        if self._on_lost is not None:
            self._on_lost(loss)

    async def aclose(self, *, has_left: bool = False) -> None:
        """End what is under way, say goodbye and close.

        Where the other side has left, it may leave something that is gone on with.
        """
        for message_id in tuple(self._under_way):
            if has_left:
                self._give_up(message_id, None)
            else:
                self._cancel(message_id)
        tasks = [task for task, _ in self._under_way.values()]
        await asyncio.gather(*tasks, return_exceptions=True)
        self._pipe.close()
        self.lose(Loss(message="closed"))


def _is_json(message: bytes) -> bool:
    try:
        msgspec.json.decode(message)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True
