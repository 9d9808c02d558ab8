"""A client on a pair of byte streams: our own standard streams, or a socket."""

import asyncio
import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Raw

from switchboard.core.calls.receipts import Receipt, gave_up
from switchboard.core.events import SessionClosed, SessionOpened
from switchboard.core.loop.loop_file import loop_file
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Boards, Events
from switchboard.core.sessions import Session
from switchboard.surface.endpoint import Endpoint
from switchboard.wire.messages import MessageId, Parts, RpcError, read_envelope
from switchboard.wire.peer import Peer
from switchboard.wire.pipes import Loss, StreamPipe

_COPY_BYTES = 64 * 1024


# What is lost first when a client does not read.
_PASSING = frozenset({"notifications/progress", "notifications/message"})
_UPDATED = "notifications/resources/updated"
# How much else a client that does not read is told when it does.
MOST_NEWS = 1_024


class _Reader(Peer):
    """A client; it may read more slowly than its children talk."""

    def __init__(self, pipe: StreamPipe, **more: Any) -> None:
        super().__init__(pipe, **more)
        self._is_behind = False
        # What it is to hear once it reads again, however often it was said meanwhile.
        self._news: dict[tuple[str, Parts], None] = {}

    def press(self, on: bool) -> None:
        self._is_behind = on
        super().press(on)
        if not on:
            news, self._news = self._news, {}
            for method, params in news:
                self.notify(method, params)

    def tell(self, method: str, params: Parts) -> None:
        """Send a notification, unless that would only add to what is not read."""
        if not self._is_behind:
            self.notify(method, params)
        elif method not in _PASSING:
            self._news[method, params] = None
            if len(self._news) > MOST_NEWS:
                # A child may name ever other parts of a resource; the listings are never many.
                oldest = (each for each in self._news if each[0] == _UPDATED)
                del self._news[next(oldest, (method, params))]


class StreamClient:
    """One client whose messages come over streams."""

    def __init__(
        self,
        pipe: StreamPipe,
        boards: Boards,
        events: Events,
        *,
        workspace: str,
        instructions: Callable[[], str],
        started_in: str = "",
        via: str = "stdio",
        on_listed: Callable[[], None] | None = None,
        client_pid: int = 0,
        client_began: int = 0,
        on_behalf_of: tuple[int, ...] = (),
        acts_for: str = "",
        depth: int = 0,
        is_pinned: bool = False,
    ) -> None:
        self._events = events
        self.pipe = pipe
        # What the client once asked, asked again for it.
        self._renewals = TaskSet()
        # Who wants to know that an answer was read, and the receipts of calls under way, by the id
        # of the request.
        self._receipts: dict[MessageId, Callable[[], None]] = {}
        self.held: dict[MessageId, Receipt] = {}
        session = Session(
            id=os.urandom(5).hex(),
            via=via,
            workspace=workspace,
            started_in=started_in,
            started_at=time.time(),
            client_pid=client_pid,
            client_began=client_began,
            on_behalf_of=on_behalf_of,
            acts_for=acts_for,
            depth=depth,
            is_pinned=is_pinned,
        )
        self.gone: asyncio.Future[Loss] = asyncio.get_running_loop().create_future()
        self.endpoint = Endpoint(
            boards,
            session,
            sink=self,
            instructions=instructions,
            on_listed=on_listed,
        )
        self.peer = _Reader(
            pipe,
            on_request=self.endpoint.request,
            on_notification=self.endpoint.notification,
            on_lost=self._lost,
            on_answered=self._answered,
            goes_on=self._goes_on,
            throttled=True,
        )
        pipe.attach(self.peer)
        events.emit(SessionOpened(session_id=session.id, via=session.via))

    def notify(self, method: str, params: Parts, /) -> None:
        self.peer.tell(method, params)

    @property
    def is_pressed(self) -> bool:
        return self.peer.is_pressed

    async def relieved(self) -> None:
        await self.peer.relieved()

    def when_answered(self, message_id: MessageId, tell: Callable[[], None], /) -> None:
        self._receipts[message_id] = tell

    def when_told(self, tell: Callable[[], None], /) -> None:
        self.pipe.when_taken(tell)

    def _answered(self, message_id: MessageId) -> None:
        if self.held and (receipt := self.held.pop(message_id, None)) is not None:
            book = receipt.book
            # One that goes on was answered with a question.
            if book is not None and receipt.status:
                book.sent(receipt, self.pipe.intake, self.pipe.mark)
        if self._receipts and (tell := self._receipts.pop(message_id, None)):
            self.pipe.when_taken(tell)

    def _goes_on(self, message_id: MessageId, reason: str | None) -> bool:
        receipt = self.held.pop(message_id, None)
        return receipt is not None and receipt.goes_on(gave_up(reason))

    async def request(self, method: str, params: Parts, /) -> Raw:
        return await self.peer.request(method, params)

    def _lost(self, loss: Loss) -> None:
        self.endpoint.close()
        self._events.emit(SessionClosed(session_id=self.endpoint.session.id, reason=loss.message))
        if not self.gone.done():
            self.gone.set_result(loss)

    @property
    def is_idle(self) -> bool:
        """Whether neither side waits for the other, but for what stays open."""
        listening = self.endpoint.listening()
        if self.peer.pending or self.endpoint.is_waiting:
            return False
        return all(each in listening for each in self.peer.under_way())

    def introduce(self, message: bytes) -> None:
        """Take a request of the client that was answered before, and answer nobody."""
        envelope = read_envelope(message)
        if envelope.method is UNSET:
            return
        with contextlib.suppress(RpcError):
            answer = self.endpoint.request(envelope.method, envelope.params, None)
            if not isinstance(answer, tuple):
                # What cannot be followed any more is told by nobody.
                self._renewals.start(answer)

    async def aclose(self, *, has_left: bool = False) -> None:
        """Say goodbye. A client that has left may leave calls that are done to their end."""
        await self._renewals.aclose()
        if self.gone.done():
            await self.pipe.settled()
        await self.peer.aclose(has_left=has_left)
        if not has_left:
            await self.left_behind.aclose()

    @property
    def left_behind(self) -> TaskSet:
        """The calls that go on without the client."""
        return self.peer.left_behind


def own_streams() -> tuple[int, int]:
    """Our standard streams for the protocol alone. What prints by mistake prints to stderr."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reading, writing


async def connect(
    pipe: StreamPipe, reading: int, writing: int, begin: Callable[[], None] | None = None
) -> None:
    """Begin to read and write on these descriptors, which are the loop's from now on.

    A terminal, a plain file or `/dev/null` works too. What `begin` does comes before the first byte
    is read.
    """
    loop = asyncio.get_running_loop()
    out = _as_pipe(writing, outgoing=True)
    await loop.connect_write_pipe(pipe.outlet, loop_file(out, "wb"))
    pipe.goes_out_by(out)
    if begin is not None:
        begin()
    await loop.connect_read_pipe(lambda: pipe, loop_file(_as_pipe(reading, outgoing=False), "rb"))


def _as_pipe(number: int, *, outgoing: bool) -> int:
    """The descriptor itself if it can be polled, else a pipe whose other end a thread copies.

    Plain files and `/dev/null` cannot: asked to, one event loop refuses and the other aborts.
    """
    mode = os.fstat(number).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return number
    reading, writing = os.pipe()
    inner, outer = (writing, reading) if outgoing else (reading, writing)
    source, target = (outer, number) if outgoing else (number, outer)
    threading.Thread(target=_copy, args=(source, target), daemon=not outgoing).start()
    return inner


def _copy(source: int, target: int) -> None:
    try:
        while data := os.read(source, _COPY_BYTES):
            view = memoryview(data)
            while view:
                view = view[os.write(target, view) :]
    except OSError:
        # A full disk or a closed terminal: the other end learns it by our closing.
        pass
    finally:
        os.close(source)
        os.close(target)
