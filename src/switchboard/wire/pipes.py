"""Messages over a pair of byte streams: batched writes, back-pressure, half-close."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from msgspec import Raw, Struct

from switchboard.wire.frames import (
    MAX_MESSAGE_BYTES,
    FrameReader,
    FrameStyle,
    FrameTooLarge,
)
from switchboard.wire.messages import Parts
from switchboard.wire.receipts import Intake, Receipts, unread_of

# Up to here one joined write is cheaper than several; beyond it a copy costs more than a call.
_JOIN_BYTES = 256 * 1024
# A client that writes many requests before it reads an answer must not be stopped at the first few.
_HIGH_WATER_BYTES = 4 * 1024 * 1024
# A peer that writes more small messages at once than these is worked off in several turns.
_MOST_A_TURN = 256
# In so many turns of the loop, what was sent is written if it can be.
_TURNS = 3
# Who has not read so much, and nothing for a while, reads no more; who has not read four times as
# much is too slow for what it asks.
UNREAD_BYTES = 16 * 1024 * 1024
# A client may be stopped for a while with large results on their way.
CLIENT_UNREAD_BYTES = 64 * 1024 * 1024
_UNREAD_TIMES = 4
UNREAD_S = 2.0
# So long who closed its side may take to read what was sent before, and how often it is looked.
_LAST_WORDS_S, _LOOK_AGAIN_S = 0.5, 0.005


class Loss(Struct, frozen=True, kw_only=True):
    """Why nothing more will come."""

    reason: Literal["closed", "broken", "too-large", "not-reading", "stopped"] = "closed"
    message: str = "the other side closed the stream"


class Pipe(Protocol):
    """Where one JSON-RPC peer's messages go out. What comes in is handed to the peer."""

    def send(self, parts: Parts) -> None:
        """Queue one message. Never waits; a message to a lost peer is dropped."""
        ...

    def pause(self) -> None:
        """Take no more messages in for now."""
        ...

    def resume(self) -> None:
        """Take messages in again."""
        ...

    def close(self) -> None:
        """Send what is queued, then close the sending side."""
        ...


class Receiver(Protocol):
    """Who gets what a pipe reads."""

    def receive(self, message: bytes) -> None:
        """One whole message."""
        ...

    def lose(self, loss: Loss) -> None:
        """Nothing more will come."""
        ...

    def press(self, on: bool) -> None:
        """The other side has stopped (or begun again) to take what we send."""
        ...


class StreamPipe(asyncio.Protocol):
    """A pipe over asyncio transports; reading and writing side may be two."""

    def __init__(
        self,
        *,
        limit: int = MAX_MESSAGE_BYTES,
        style: FrameStyle | None = "newline",
        # How much the other side may leave unread.
        unread: int = UNREAD_BYTES,
    ) -> None:
        self._frames = FrameReader(limit)
        # None: answer in the framing of the first message that comes.
        self._style: FrameStyle | None = style
        self._receiver: Receiver | None = None
        self._reading: Any = None
        self._writing: Any = None
        self._batch: list[bytes | Raw] = []
        # So many of its parts have so many bytes.
        self._counted = (0, 0)
        self._scheduled = False
        # Whether the other side has spoken since we did.
        self._is_awaited = False
        self._closing = False
        # What was read and not handed over yet; whether somebody wants no more for now.
        self._backlog: deque[bytes] = deque()
        self._is_paused = False
        self._loop = asyncio.get_running_loop()
        # How much was handed to the transport, and how much of it has left this process; through
        # which descriptor, and who wants to know that it was read.
        self._sent = self._left = 0
        self._number = -1
        self._receipts = Receipts()
        # Looked at by whoever wants to know how far an answer got.
        self.intake = Intake(self._taken)
        self._unread = unread
        # Looked at while the other side does not take what it is sent: how much had left last, and
        # when that was another number.
        self._is_pressed = False
        self._moved = (-1, 0.0)
        self._watching: asyncio.TimerHandle | None = None

    def attach(self, receiver: Receiver) -> None:
        """Say who gets the messages. Comes before the first byte."""
        self._receiver = receiver

    @property
    def framing(self) -> FrameStyle | None:
        """How messages are framed, once that is known."""
        return self._style

    def held(self) -> bytes:
        """The beginning of a message that has not ended yet."""
        return self._frames.held()

    def outlet(self) -> asyncio.BaseProtocol:
        """The protocol of the writing side when it is a transport of its own."""
        return _Outlet(self)

    # Reading

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._reading = transport

    def data_received(self, data: bytes) -> None:
        receiver = self._receiver
        if receiver is None:
            return
        self._is_awaited = True
        # First: what it asks now may depend on what it has read.
        self._receipts.look(self._written())
        loss: Loss | None = None
        try:
            messages = self._frames.feed(data)
        except FrameTooLarge as error:
            messages = error.messages
            loss = Loss(reason="too-large", message=str(error))
        if self._style is None and messages:
            self._style = self._frames.style
        if self._backlog or len(messages) > _MOST_A_TURN:
            self._put_off(messages)
        else:
            for message in messages:
                receiver.receive(message)
        if loss is not None:
            self.abort(loss)

    def _put_off(self, messages: Sequence[bytes]) -> None:
        """Others take their turn in between. Meanwhile nothing more is read."""
        if not self._backlog:
            self._loop.call_soon(self._work_off)
            self._stop_reading()
        self._backlog.extend(messages)

    def _work_off(self) -> None:
        for _ in range(min(_MOST_A_TURN, len(self._backlog))):
            if self._receiver is None:
                self._backlog.clear()
                return
            self._receiver.receive(self._backlog.popleft())
        if self._backlog:
            self._loop.call_soon(self._work_off)
        elif not self._is_paused:
            self.resume()

    def eof_received(self) -> None:
        self.lose(Loss())

    def connection_lost(self, exc: Exception | None) -> None:
        self.lose(Loss(reason="broken", message=str(exc)) if exc else Loss())

    def lose(self, loss: Loss) -> None:
        """Tell the receiver once that nothing more will come, after all that came before."""
        while self._backlog and self._receiver is not None:
            self._receiver.receive(self._backlog.popleft())
        self.intake.lose()
        if not self.intake.is_cut_off:
            self._receipts.look(self._written())
        self._receipts.close()
        if self._writing is None or self._writing.is_closing():
            self.intake.close()
        if self._watching is not None:
            self._watching.cancel()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.lose(loss)

    def pause(self) -> None:
        self._is_paused = True
        self._stop_reading()

    def _stop_reading(self) -> None:
        if self._reading is not None and not self._reading.is_closing():
            self._reading.pause_reading()

    def resume(self) -> None:
        self._is_paused = False
        if self._backlog:
            return
        if self._reading is not None and not self._reading.is_closing():
            self._reading.resume_reading()

    # Writing

    def goes_out_by(self, number: int) -> None:
        """Say which descriptor the messages go out by, where that is known."""
        self._number = self.intake.number = number

    def when_taken(self, tell: Callable[[], None]) -> None:
        """Have somebody told once all that was sent so far was taken; not if it never is."""
        if not self._closing and self._receiver is not None:
            self._receipts.add(self.mark, tell, number=self._number, written=self._written)
            self._see_it_leave(_TURNS)

    @property
    def mark(self) -> int:
        """Up to where the other side has to take to have all that was sent so far."""
        batch = self._batch
        counted, size = self._counted
        if counted < len(batch):
            # Each part once: who has many calls under way asks after each of their answers.
            size += sum(map(len, batch[counted:]))
            self._counted = (len(batch), size)
        return self._sent + size

    def _taken(self) -> int | None:
        """How much the other side has taken: read, where the system knows. Nothing at the end."""
        if self._writing is None or self._writing.is_closing():
            return None
        return self._written() - unread_of(self._number)

    async def settled(self) -> None:
        """Wait a moment for who has left, and still reads what was sent before."""
        until = self._loop.time() + _LAST_WORDS_S
        while (taken := self._taken()) is not None and taken < self._sent and self.intake.is_open:
            if self._loop.time() > until:
                return
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _see_it_leave(self, turns: int) -> None:
        """Note what was written as soon as it is: a reader may take it and be gone at once.

        Some loops write at the end of the turn.
        """
        self._written()
        if turns:
            self._loop.call_soon(self._see_it_leave, turns - 1)

    def _written(self) -> int:
        """How much has left this process. A stream that broke threw away what it still had."""
        if self._writing is not None and not self._writing.is_closing():
            self._left = self._sent - self._writing.get_write_buffer_size()
        return self._left

    def write_to(self, transport: asyncio.BaseTransport) -> None:
        """Say where messages go out."""
        self._writing = transport
        self._writing.set_write_buffer_limits(high=_HIGH_WATER_BYTES)

    def send(self, parts: Parts) -> None:
        if self._closing:
            return
        if self._style == "content-length":
            self._batch.append(b"Content-Length: %d\r\n\r\n" % sum(map(len, parts)))
            self._batch += parts
        else:
            self._batch += parts
            self._batch.append(b"\n")
        if self._scheduled:
            return
        if self._is_awaited:
            # Who asks one thing at a time waits for no further turn of the loop.
            self._is_awaited = False
            self.flush()
        else:
            # One answer was sent at once; those that come with it go out together.
            self._scheduled = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what is queued."""
        self._scheduled = False
        batch, self._batch, self._counted = self._batch, [], (0, 0)
        writing = self._writing
        if writing is None or not batch or writing.is_closing():
            return
        if self._is_pressed and self._is_given_up():
            return
        size = sum(map(len, batch))
        self._sent += size
        if size <= _JOIN_BYTES:
            writing.write(b"".join(batch))
            return
        # At once: a process that is killed in between must not leave half a message.
        writing.writelines([part if type(part) is bytes else memoryview(part) for part in batch])

    def _is_given_up(self) -> bool:
        """Whether the other side reads no more, and has been left."""
        left = self._written()
        unread, now = self._sent - left, self._loop.time()
        if left != self._moved[0]:
            self._moved = (left, now)
        is_still = now - self._moved[1] > UNREAD_S
        if unread <= self._unread * (1 if is_still else _UNREAD_TIMES):
            return False
        message = f"it left {unread:,} bytes of what it was sent unread"
        self.abort(Loss(reason="not-reading", message=message))
        return True

    def _look_again(self) -> None:
        """Nobody may have anything to say to it any more."""
        if self._is_pressed and not self._closing and not self._is_given_up():
            self._watch()

    def _watch(self) -> None:
        self._watching = self._loop.call_later(max(UNREAD_S, 0.0) + 0.1, self._look_again)

    def press(self, on: bool) -> None:
        """Pass back-pressure on."""
        self._is_pressed = on
        if on:
            self._moved = (self._written(), self._loop.time())
            self._watch()
        elif self._watching is not None:
            self._watching.cancel()
        if self._receiver is not None:
            self._receiver.press(on)

    def pause_writing(self) -> None:
        self.press(on=True)

    def resume_writing(self) -> None:
        self.press(on=False)

    def close(self) -> None:
        if self._closing:
            return
        self.flush()
        self._closing = True
        self.intake.close()
        if self._writing is not None:
            self._writing.close()

    def abort(self, loss: Loss) -> None:
        """Close both sides at once: what comes next cannot be understood."""
        self.lose(loss)
        if loss.reason == "not-reading":
            # Closed, it would go on waiting for the other side.
            self._closing = True
            self._batch, self._counted = [], (0, 0)
            if self._writing is not None:
                self._writing.abort()
        else:
            self.flush()
            self._closing = True
        self.intake.close()
        for transport in (self._reading, self._writing):
            if transport is not None:
                transport.close()


class _Outlet(asyncio.BaseProtocol):
    """Gives the news of a separate writing transport to its pipe."""

    def __init__(self, pipe: StreamPipe) -> None:
        self._pipe = pipe

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipe.write_to(transport)

    def pause_writing(self) -> None:
        self._pipe.press(on=True)

    def resume_writing(self) -> None:
        self._pipe.press(on=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pipe.connection_lost(exc)
