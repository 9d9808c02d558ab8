"""One connected shim or command: lines both ways, and open files that come with them."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable

from switchboard.ipc.lines import Gone
from switchkit.platform.light import RECEIVE_CLOSED

_CHUNK = 65536
_MAX_FILES = 4
# More than this waits only for a reader that has stopped reading.
_MAX_UNREAD_BYTES = 8 * 1024 * 1024


class SocketConnection:
    """A socket in the event loop. An asyncio transport would lose the files."""

    def __init__(self, sock: socket.socket, pid: int) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()
        self._limit = 0
        self._waiting: asyncio.Future[None] | None = None
        self._unsent = bytearray()
        self._taken: asyncio.Future[None] | None = None
        self._files: list[int] = []
        # Makes room for open files, right before they are received.
        self.make_room: Callable[[], object] | None = None
        # Whether files were sent that could not be received.
        self.has_lost_files = False
        self.pid = pid
        self.gone: asyncio.Future[None] = self._loop.create_future()
        sock.setblocking(False)
        self._loop.add_reader(sock, self._read)

    # What comes in

    async def line(self, limit: int, timeout_s: float | None) -> bytes:
        """The next line. Raises `Gone`, also when it is longer than the limit; `TimeoutError`."""
        self._limit = limit
        async with asyncio.timeout(timeout_s):
            while b"\n" not in self._pending:
                if len(self._pending) > limit:
                    self.close()
                if self.gone.done():
                    raise Gone
                self._waiting = self._loop.create_future()
                await self._waiting
        line, _, rest = bytes(self._pending).partition(b"\n")
        self._pending[:] = rest
        return line

    async def until_gone(self) -> None:
        """Wait for the other side to leave."""
        await asyncio.shield(self.gone)

    def take_files(self) -> list[int]:
        """The open files that came so far; the caller closes them."""
        files, self._files = self._files, []
        return files

    def _read(self) -> None:
        if self.make_room is not None:
            self.make_room()
            self.make_room = None
        try:
            data, files, flags, _ = socket.recv_fds(self._sock, _CHUNK, _MAX_FILES, RECEIVE_CLOSED)
        except BlockingIOError:
            return
        except OSError:
            data, files, flags = b"", [], 0
        for each in files:
            # Python forgets the flag, and macOS has none. A program that is started next would keep
            # the streams of a client open.
            os.set_inheritable(each, False)
        self._files += files
        self.has_lost_files |= bool(flags & socket.MSG_CTRUNC)
        if len(self._files) > _MAX_FILES or not data:
            self.close()
            return
        self._pending += data
        # Nobody asked for so much, and who sends it would fill our memory.
        if len(self._pending) > self._limit + _CHUNK:
            self.close()
        self._wake()

    def _wake(self) -> None:
        for waiting in (self._waiting, self._taken):
            if waiting is not None and not waiting.done():
                waiting.set_result(None)
        self._waiting = self._taken = None

    # What goes out

    def say(self, text: str) -> None:
        """Send a line, sooner or later. One who never reads is left."""
        if self.gone.done():
            return
        is_first = not self._unsent
        self._unsent += text.encode("utf-8", "surrogateescape") + b"\n"
        if len(self._unsent) > _MAX_UNREAD_BYTES:
            self.close()
        elif is_first:
            self._write()

    async def send(self, line: bytes) -> None:
        """Send a line however long it is, and wait until it was taken. Raises `Gone`."""
        is_first = not self._unsent
        self._unsent += line
        if is_first and not self.gone.done():
            self._write()
        while self._unsent and not self.gone.done():
            self._taken = self._loop.create_future()
            await self._taken
        if self.gone.done():
            raise Gone

    @property
    def is_behind(self) -> bool:
        """Whether something that was said has not been taken yet."""
        return bool(self._unsent)

    def _write(self) -> None:
        try:
            sent = self._sock.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.close()
            return
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._sock, self._write)
        else:
            self._loop.remove_writer(self._sock)
            self._wake()

    def close(self) -> None:
        """Leave."""
        if self.gone.done():
            return
        self.gone.set_result(None)
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        with contextlib.suppress(OSError):
            # The last words, if they can go at all.
            if self._unsent:
                self._sock.send(self._unsent)
        self._sock.close()
        for number in self.take_files():
            os.close(number)
        self._wake()


OnConnection = Callable[[SocketConnection], None]
