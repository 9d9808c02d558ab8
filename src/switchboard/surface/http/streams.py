"""The messages of one response, apart from the connection that carries them.

A stream with event ids outlives its connection: what was sent last is kept, so that a client that
comes back gets what it missed. What a client does not read is bounded: progress and log messages
go first, then other notifications; a request or a response is never dropped.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Literal

from msgspec import Raw, Struct

from switchboard.core.calls.receipts import GaveUp, Receipt
from switchboard.surface.http.exchange import HttpReply
from switchboard.wire.messages import (
    METHOD_NOT_FOUND,
    MessageId,
    Parts,
    RpcError,
    notification_parts,
)
from switchboard.wire.pending import PeerLost, Pending
from switchboard.wire.pipes import Loss

# A burst of small notifications comes in one piece, before anybody gets to send the first of them.
MOST_WAITING = 4_096
MOST_WAITING_BYTES = 4 * 1024 * 1024
# From here on whoever can wait does.
_PRESSING_BYTES = 256 * 1024
# What is kept of what was sent, beside the newest message: that one may well be the answer.
MOST_KEPT = 256
MOST_KEPT_BYTES = 1024 * 1024

_PASSING = frozenset({"notifications/progress", "notifications/message"})

Worth = Literal["passing", "news", "must"]


class Message(Struct, frozen=True):
    """One message of a stream, with its place in it."""

    number: int
    parts: Parts
    size: int
    worth: Worth


class _Sent:
    """An answer over HTTP: read by a client that was there when it was sent whole."""

    __slots__ = ("is_over", "taken")

    def __init__(self) -> None:
        self.taken = 0
        self.is_over = False

    def take(self) -> None:
        self.taken = 1

    def look(self) -> int:
        return self.taken


class Stream:
    """The sink of one request, or of a session."""

    def __init__(
        self,
        key: str = "",
        *,
        accepts_events: bool,
        questions: Pending | None = None,
        has_ids: bool = False,
        most_waiting: int = MOST_WAITING,
        # What headers say of the trace that a request belongs to, as members of `_meta`.
        trace: bytes = b"",
    ) -> None:
        self.trace = trace
        self.key = key
        self.accepts_events = accepts_events
        self.has_ids = has_ids
        # Whether a response has become a stream of events.
        self.has_begun = False
        self.has_ended = False
        # The answer, as long as it can still be a response of its own.
        self.whole: HttpReply | None = None
        self.is_answered = False
        # Who is told that there is something to send or that it is over, else who waits for it.
        self.on_news: Callable[[], None] | None = None
        # Only where somebody waits to be sent, and for the client to read on.
        self._taken: asyncio.Event | None = None
        # Whoever carries the messages now; a newer connection takes the place of an older.
        self.carrier: object | None = None
        self._questions = questions
        self._most_waiting = most_waiting
        self._waiting: deque[Message] = deque()
        self._waiting_bytes = 0
        self._kept: deque[Message] = deque()
        self._kept_bytes = 0
        self._last = 0
        self._work: asyncio.Task[HttpReply] | None = None
        # Who wants to know that a message was taken, by its number; the answer has none so far.
        self._receipts: list[tuple[int | None, Callable[[], None]]] = []
        # Of the calls that the request makes, and how far the answer got.
        self.held: dict[MessageId, Receipt] = {}
        self._sent: _Sent | None = None
        # What it means that the client has left.
        self.leaving: GaveUp = "left"

    @cached_property
    def news(self) -> asyncio.Event:
        """Set when there is something to send, or it is over."""
        return asyncio.Event()

    # The sink

    def notify(self, method: str, params: Parts, /) -> None:
        worth: Worth = "passing" if method in _PASSING else "news"
        self._push(notification_parts(method, params), worth)

    @property
    def is_pressed(self) -> bool:
        return self._waiting_bytes > _PRESSING_BYTES and not self.has_ended

    async def relieved(self) -> None:
        while self.is_pressed:
            taken = self._taken = self._taken or asyncio.Event()
            taken.clear()
            await taken.wait()

    def when_answered(self, message_id: MessageId, tell: Callable[[], None], /) -> None:
        del message_id
        self._receipts.append((None, tell))

    def when_told(self, tell: Callable[[], None], /) -> None:
        self._receipts.append((self._last, tell))

    async def request(self, method: str, params: Parts, /) -> Raw:
        if self._questions is None:
            raise RpcError(METHOD_NOT_FOUND, f"`{method}` cannot be asked in this protocol version")
        if not self.accepts_events:
            message = f"`{method}` cannot be asked: the client accepts no event stream"
            raise RpcError(METHOD_NOT_FOUND, message)
        if self.has_ended:
            raise PeerLost(Loss(message="the response has ended"))
        return await self._questions.ask(self.say, method, params)

    def say(self, parts: Parts) -> None:
        """Send a request or a response."""
        self._push(parts, "must")

    def says(self, method: str, params: Parts) -> bool:
        """Whether just this notification waits to be sent."""
        parts = notification_parts(method, params)
        return any(message.parts == parts for message in self._waiting)

    # The end

    def follow(self, work: "asyncio.Task[HttpReply]") -> None:
        """End with what the work comes to: `answer` is told of its end."""
        self._work = work

    def answer(self, work: "asyncio.Task[HttpReply]") -> None:
        """What it was to follow has ended."""
        if self._work is not work:
            return
        failed = work.cancelled() or work.exception() is not None
        self.end(None if failed else work.result())

    def end(self, reply: HttpReply | None = None) -> None:
        """Nothing comes after this."""
        if self.has_ended:
            return
        if reply is not None:
            self.is_answered = True
            self._note_answer()
            if self.has_begun or self._waiting:
                self.say(reply.parts)
                self._receipts = [
                    (self._last if number is None else number, tell)
                    for number, tell in self._receipts
                ]
            else:
                self.whole = reply
        self.has_ended = True
        if self._taken is not None:
            self._taken.set()
        self.tell()

    def _note_answer(self) -> None:
        if not self.held:
            return
        # One that goes on was answered with a question.
        ended = [receipt for receipt in self.held.values() if receipt.status]
        if not ended:
            return
        sent = self._sent = _Sent()
        # That a client has left is seen a turn later.
        self._receipts.append((None, sent.take))
        for receipt in ended:
            if receipt.book is not None:
                receipt.book.sent(receipt, sent, 1)

    def abandon(self) -> None:
        """Nobody will read the answer."""
        if self._work is not None and not self._work.done() and not self.goes_on(self.leaving):
            self._work.cancel()
        self.release()

    def goes_on(self, why: GaveUp) -> bool:
        """Whether the work is done to its end without a client."""
        return len(self.held) == 1 and next(iter(self.held.values())).goes_on(why)

    def release(self) -> None:
        """The work is none of ours any more, and nobody is answered."""
        self._work = None
        if self._sent is not None:
            self._sent.is_over = True
        self.end()

    # What a connection carries

    def tell(self) -> None:
        """There is news for whoever carries it."""
        if self.on_news is None:
            self.news.set()
        else:
            self.on_news()

    @property
    def is_empty(self) -> bool:
        """Whether everything has been sent."""
        return not self._waiting

    @property
    def held_bytes(self) -> int:
        """How much it holds, sent or not."""
        return self._waiting_bytes + self._kept_bytes

    @property
    def place(self) -> str:
        """The id of the last message that was sent."""
        first = self._waiting[0].number if self._waiting else self._last + 1
        return self.id_of(first - 1)

    def id_of(self, number: int) -> str:
        """The event id of a message; empty when nobody may ask for what came after it."""
        return f"{self.key}-{number}" if self.has_ids else ""

    def take(self) -> Message:
        """The next message to send. There must be one."""
        message = self._waiting.popleft()
        self._waiting_bytes -= message.size
        if self._taken is not None:
            self._taken.set()
        if self.has_ids:
            self._kept.append(message)
            self._kept_bytes += message.size
            while len(self._kept) > 1 and (
                len(self._kept) > MOST_KEPT or self._kept_bytes - message.size > MOST_KEPT_BYTES
            ):
                self._kept_bytes -= self._kept.popleft().size
        return message

    @property
    def has_receipts(self) -> bool:
        """Whether somebody wants to know what was taken."""
        return bool(self._receipts)

    def taken(self, number: int | None = None) -> None:
        """A connection has taken the message with this number, or the answer alone."""
        if number is None and self._sent is not None:
            self._sent.take()
        if not self._receipts:
            return
        done = [each for each in self._receipts if each[0] == number or _is_up_to(each[0], number)]
        self._receipts = [each for each in self._receipts if each not in done]
        for _, tell in done:
            tell()

    def rewind(self, number: int) -> None:
        """Send again what came after the message with this number, as far as it is kept."""
        while self._kept and self._kept[-1].number > number:
            message = self._kept.pop()
            self._kept_bytes -= message.size
            self._waiting.appendleft(message)
            self._waiting_bytes += message.size

    def _push(self, parts: Parts, worth: Worth) -> None:
        if not self.accepts_events or self.has_ended:
            return
        self._last += 1
        size = sum(memoryview(part).nbytes for part in parts)
        self._waiting.append(Message(self._last, parts, size, worth))
        self._waiting_bytes += size
        while self._is_full and (index := self._least()) is not None:
            self._waiting_bytes -= self._waiting[index].size
            del self._waiting[index]
        self.tell()

    @property
    def _is_full(self) -> bool:
        count = len(self._waiting)
        return count > self._most_waiting or (
            count > 1 and self._waiting_bytes > MOST_WAITING_BYTES
        )

    def _least(self) -> int | None:
        """Which message is missed least: the oldest of those that pass, else the oldest news."""
        oldest_news = None
        for index, message in enumerate(self._waiting):
            if message.worth == "passing":
                return index
            if message.worth == "news" and oldest_news is None:
                oldest_news = index
        return oldest_news


def _is_up_to(number: int | None, taken: int | None) -> bool:
    return number is not None and taken is not None and number <= taken
