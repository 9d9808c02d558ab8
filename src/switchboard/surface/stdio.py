"""A client on a pair of byte streams: our own standard streams, or a socket."""

import asyncio
import os
import stat
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

from switchboard.core.events import SessionClosed, SessionOpened
from switchboard.core.ports import Boards, Events
from switchboard.core.sessions import Session
from switchboard.surface.front import Front
from switchboard.wire.peer import Peer
from switchboard.wire.pipes import Loss, StreamPipe

_COPY_BYTES = 64 * 1024


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
        via: str = "stdio",
        on_listed: Callable[[], None] | None = None,
    ) -> None:
        self._events = events
        session = Session(
            id=os.urandom(5).hex(), via=via, workspace=workspace, started_at=time.time()
        )
        self.gone: asyncio.Future[Loss] = asyncio.get_running_loop().create_future()
        self.front = Front(
            boards,
            session,
            notify=self._notify,
            instructions=instructions,
            on_listed=on_listed,
        )
        self.peer = Peer(
            pipe,
            on_request=self.front.request,
            on_notification=self.front.notification,
            on_lost=self._lost,
            throttled=True,
        )
        pipe.attach(self.peer)
        events.emit(SessionOpened(session_id=session.id, via=session.via))

    def _notify(self, method: str, params: "tuple[bytes, ...]", /) -> None:
        self.peer.notify(method, params)

    def _lost(self, loss: Loss) -> None:
        self._events.emit(SessionClosed(session_id=self.front.session.id, reason=loss.message))
        if not self.gone.done():
            self.gone.set_result(loss)

    async def aclose(self) -> None:
        """Say goodbye."""
        await self.peer.aclose()


async def connect(pipe: StreamPipe, reading: BinaryIO, writing: BinaryIO) -> None:
    """Begin to read and write. A terminal, a plain file or `/dev/null` works too."""
    loop = asyncio.get_running_loop()
    await loop.connect_write_pipe(pipe.outlet, _as_pipe(writing, outgoing=True))
    await loop.connect_read_pipe(lambda: pipe, _as_pipe(reading, outgoing=False))


def _as_pipe(file: BinaryIO, *, outgoing: bool) -> BinaryIO:
    """The file itself if it can be polled, else a pipe whose other end a thread copies.

    Plain files and `/dev/null` cannot: asked to, one event loop refuses and the other aborts.
    """
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return file
    reading, writing = os.pipe()
    inner, outer = (writing, reading) if outgoing else (reading, writing)
    source, target = (outer, file.fileno()) if outgoing else (file.fileno(), outer)
    threading.Thread(target=_copy, args=(source, target, outer), daemon=not outgoing).start()
    return open(inner, "wb" if outgoing else "rb", buffering=0)  # noqa: PTH123


def _copy(source: int, target: int, ours: int) -> None:
    try:
        while data := os.read(source, _COPY_BYTES):
            view = memoryview(data)
            while view:
                view = view[os.write(target, view) :]
    except OSError:
        # A full disk or a closed terminal: the other end learns it by our closing.
        pass
    finally:
        os.close(ours)
