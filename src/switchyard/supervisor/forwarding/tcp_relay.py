"""The data path of checkouts and names: raw bytes between sockets, one thread, no copies kept.

It knows nothing of HTTP; only a `Router` reads the first bytes of a connection.
"""

import collections
import contextlib
import errno
import os
import selectors
import socket
import threading
from collections.abc import Callable
from typing import NamedTuple

from switchkit.platform.light import wake_pipe

CHUNK = 1 << 18
ACCEPTS = 64
LARGEST_HEAD = 1 << 16
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Backend(NamedTuple):
    """Where a connection goes."""

    host: str
    port: int


class DirectAnswer(NamedTuple):
    """Bytes to answer with instead of forwarding the connection."""

    answer: bytes


Router = Callable[[bytes], Backend | DirectAnswer | None]
"""Decides from the first bytes; nothing means that more are needed."""


class _End:
    """One socket of a tunnel."""

    __slots__ = ("closed_in", "events", "other", "pending", "shut", "sock", "step")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.other: _End | None = None
        self.pending = b""
        self.events = 0
        self.closed_in = False
        self.shut = False
        self.step: Callable[[_End, int], None] | None = None


class _Listener:
    """One canonical port, or the port of the names. Its target may change while it listens."""

    def __init__(self, sockets: list[socket.socket], router: Router, *, sniffs: bool) -> None:
        self.sockets = sockets
        self.router = router
        self.sniffs = sniffs


class TcpRelay:
    """Owns all listeners and tunnels. Every method but `_loop` may be called from any thread."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = wake_pipe()
        self._selector.register(self._wake_read, _READ, None)
        self._orders: collections.deque[Callable[[], None]] = collections.deque()
        self._listeners: dict[int, _Listener] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def listen(
        self, port: int, sockets: list[socket.socket], router: Router, *, sniffs: bool
    ) -> None:
        """Serve these bound sockets. The router decides where each connection goes."""
        listener = _Listener(sockets, router, sniffs=sniffs)
        with self._lock:
            self._listeners[port] = listener
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="relay", daemon=True)
                self._thread.start()

        def register() -> None:
            for sock in sockets:
                self._selector.register(sock, _READ, listener)

        self._order(register)

    def retarget(self, port: int, router: Router) -> None:
        """Send new connections elsewhere from now on; open ones stay where they are."""
        with self._lock:
            self._listeners[port].router = router

    def close(self, port: int) -> None:
        """Stop listening, and return when the port is free. Open connections continue."""
        with self._lock:
            listener = self._listeners.pop(port, None)
        if listener is None:
            return
        done = threading.Event()

        def unregister() -> None:
            for sock in listener.sockets:
                self._selector.unregister(sock)
                sock.close()
            done.set()

        self._order(unregister)
        done.wait(5.0)

    def ports(self) -> list[int]:
        """The ports that are listened on now."""
        with self._lock:
            return sorted(self._listeners)

    def _order(self, order: Callable[[], None]) -> None:
        self._orders.append(order)
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"x")

    def _loop(self) -> None:
        while True:
            for key, events in self._selector.select():
                goal = key.data
                if isinstance(goal, _End):
                    self._step(goal, events)
                elif isinstance(goal, _Listener):
                    self._accept(key.fileobj, goal)  # pyright: ignore[reportArgumentType] - listeners are registered as sockets
                else:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake_read, 4096)
                    while self._orders:
                        self._orders.popleft()()

    def _step(self, end: _End, events: int) -> None:
        if end.step is None:
            return
        try:
            end.step(end, events)
        except OSError:
            self._drop(end)

    def _accept(self, sock: socket.socket, listener: _Listener) -> None:
        for _ in range(ACCEPTS):
            try:
                client, _ = sock.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as wrong:
                if wrong.errno in (errno.EMFILE, errno.ENFILE):
                    return
                return
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end = _End(client)
            if listener.sniffs:
                end.step = lambda one, _, router=listener.router: self._sniff(one, router)
                self._watch(end, _READ)
            else:
                self._open(end, listener.router(b""))

    def _sniff(self, end: _End, router: Router) -> None:
        part = end.sock.recv(LARGEST_HEAD)
        end.pending += part
        if not part or len(end.pending) > LARGEST_HEAD:
            self._drop(end)
            return
        goal = router(end.pending)
        if goal is not None:
            self._open(end, goal)

    def _open(self, end: _End, goal: Backend | DirectAnswer | None) -> None:
        if not isinstance(goal, Backend):
            if goal is not None:
                with contextlib.suppress(OSError):
                    end.sock.send(goal.answer)
            self._drop(end)
            return
        family = socket.AF_INET6 if ":" in goal.host else socket.AF_INET
        back = _End(socket.socket(family, socket.SOCK_STREAM))
        back.sock.setblocking(False)
        back.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back.other, end.other = end, back
        # The backend still needs the bytes that the router read from the client.
        back.pending, end.pending = end.pending, b""
        self._watch(end, 0)
        end.step = self._pump
        back.step = self._connected
        try:
            code = back.sock.connect_ex((goal.host, goal.port))
        except OSError as wrong:
            code = wrong.errno or errno.EIO
        if code not in (0, errno.EINPROGRESS):
            self._drop(end)
            return
        self._watch(back, _WRITE)

    def _connected(self, back: _End, _: int) -> None:
        if back.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._drop(back)
            return
        back.step = self._pump
        self._interest(back)
        if back.other:
            self._interest(back.other)

    def _pump(self, end: _End, events: int) -> None:
        other = end.other
        if other is None:
            return
        if events & _WRITE and end.pending:
            sent = end.sock.send(end.pending)
            end.pending = end.pending[sent:]
            if not end.pending:
                self._finish(end)
                self._interest(other)
                self._interest(end)
        if events & _READ and not other.pending and not end.closed_in:
            try:
                part = end.sock.recv(CHUNK)
            except BlockingIOError:
                return
            if not part:
                end.closed_in = True
                self._finish(other)
                self._interest(end)
                return
            try:
                sent = other.sock.send(part)
            except BlockingIOError:
                sent = 0
            if sent < len(part):
                other.pending = part[sent:]
                self._interest(end)
                self._interest(other)

    def _finish(self, end: _End) -> None:
        """Forward the other side's end of stream, once all of its bytes are out."""
        other = end.other
        if other and other.closed_in and not end.pending and not end.shut:
            end.shut = True
            with contextlib.suppress(OSError):
                end.sock.shutdown(socket.SHUT_WR)
        if other and end.shut and other.shut:
            self._drop(end)

    def _interest(self, end: _End) -> None:
        other = end.other
        if other is None:
            return
        wanted = _WRITE if end.pending else 0
        if not end.closed_in and not other.pending:
            wanted |= _READ
        self._watch(end, wanted)

    def _watch(self, end: _End, events: int) -> None:
        if end.events == events:
            return
        if not events:
            self._selector.unregister(end.sock)
        elif end.events:
            self._selector.modify(end.sock, events, end)
        else:
            self._selector.register(end.sock, events, end)
        end.events = events

    def _drop(self, end: _End) -> None:
        for one in (end, end.other):
            if one is not None:
                self._watch(one, 0)
                one.step = None
                one.other = None
                one.sock.close()
