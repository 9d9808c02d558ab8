"""The data path of checkouts and names: raw bytes between sockets, one thread, no copies kept.

It knows nothing of HTTP; only a `Router` reads the first bytes of a connection.

Tunnels have half of the files that the process may have open; the rest belongs to services and
requests. A port takes no further connection once it has three times as many tunnels as are free,
so one that is flooded leaves some to each other port. What it does not take waits in the kernel.
"""

import collections
import contextlib
import errno
import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from switchkit.open_files import file_limit
from switchkit.platform.light import wake_pipe

CHUNK = 1 << 18
ACCEPTS = 64
LARGEST_HEAD = 1 << 16
FILES_OF_A_TUNNEL = 2
# Of what is free, how much one port may have.
SHARE = 3
# How soon a port that takes no connections tries again when no tunnel has ended.
RETRY_S = 0.2
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
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

    __slots__ = ("closed_in", "events", "listener", "other", "pending", "shut", "sock", "step")

    def __init__(self, sock: socket.socket, listener: "_Listener | None" = None) -> None:
        self.sock = sock
        # Of the client's end only: the tunnel is counted there.
        self.listener = listener
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
        self.tunnels = 0
        self.is_taking = False
        # When it may take connections again at the earliest; 0 while it takes them.
        self.paused_until = 0.0


class RelayState(NamedTuple):
    """How the relay is doing. `paused` are ports that take no connections for now."""

    tunnels: int
    most_tunnels: int
    paused: tuple[int, ...]
    faults: int


class TcpRelay:
    """Owns all listeners and tunnels. Every method but `_loop` may be called from any thread."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = wake_pipe()
        self._selector.register(self._wake_read, _READ, None)
        self._orders: collections.deque[Callable[[], None]] = collections.deque()
        self._listeners: dict[int, _Listener] = {}
        # Changed by the relay's thread alone; others may read them.
        self._tunnels = 0
        self._most = max(1, file_limit() // 2 // FILES_OF_A_TUNNEL)
        self._faults = 0
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
                self._thread = threading.Thread(target=self._live, name="relay", daemon=True)
                self._thread.start()

        def register() -> None:
            self._take(listener, on=True)

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
            try:
                self._take(listener, on=False)
            finally:
                for sock in listener.sockets:
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

    def state(self) -> RelayState:
        """How it is doing now."""
        with self._lock:
            ports = [port for port, one in self._listeners.items() if one.paused_until]
        return RelayState(self._tunnels, self._most, tuple(sorted(ports)), self._faults)

    def _live(self) -> None:
        """Run for as long as the process does, whatever happens in it."""
        while True:
            try:
                self._loop()
            except Exception as wrong:  # noqa: BLE001 - every port of the project hangs on this thread
                self._note(wrong)
                time.sleep(RETRY_S)

    def _note(self, wrong: Exception) -> None:
        self._faults += 1
        sys.excepthook(type(wrong), wrong, wrong.__traceback__)

    def _loop(self) -> None:
        while True:
            paused = self._resume()
            for key, events in self._selector.select(RETRY_S if paused else None):
                try:
                    self._handle(key, events)
                except Exception as wrong:  # noqa: BLE001 - one event must not end all others
                    self._note(wrong)

    def _handle(self, key: selectors.SelectorKey, events: int) -> None:
        goal = key.data
        if isinstance(goal, _End):
            self._step(goal, events)
        elif isinstance(goal, _Listener):
            self._accept(key.fileobj, goal)  # pyright: ignore[reportArgumentType] - listeners are registered as sockets
        else:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
            while self._orders:
                try:
                    self._orders.popleft()()
                except Exception as wrong:  # noqa: BLE001 - the next order is another caller's
                    self._note(wrong)

    def _take(self, listener: _Listener, *, on: bool) -> None:
        """Begin or cease to take connections; the kernel keeps those that come meanwhile."""
        if listener.is_taking != on:
            listener.is_taking = on
            for sock in listener.sockets:
                if on:
                    self._selector.register(sock, _READ, listener)
                else:
                    self._selector.unregister(sock)

    def _has_room(self, listener: _Listener) -> bool:
        return listener.tunnels < SHARE * (self._most - self._tunnels)

    def _resume(self) -> bool:
        """Let ports take connections again that may; whether one still may not."""
        with self._lock:
            waiting = [one for one in self._listeners.values() if one.paused_until]
        for one in waiting:
            if self._has_room(one) and one.paused_until <= time.monotonic():
                one.paused_until = 0.0
                self._take(one, on=True)
        return any(one.paused_until for one in waiting)

    def _pause(self, listener: _Listener, at_least_s: float) -> None:
        listener.paused_until = time.monotonic() + at_least_s
        self._take(listener, on=False)

    def _step(self, end: _End, events: int) -> None:
        if end.step is None:
            return
        try:
            end.step(end, events)
        except OSError:
            self._drop(end)
        except Exception as wrong:  # noqa: BLE001 - ends this connection alone
            self._note(wrong)
            self._drop(end)

    def _accept(self, sock: socket.socket, listener: _Listener) -> None:
        for _ in range(ACCEPTS):
            if not self._has_room(listener):
                self._pause(listener, 0.0)
                return
            try:
                client, _ = sock.accept()
            except OSError as wrong:
                if wrong.errno in _NO_FILES:
                    self._pause(listener, RETRY_S)
                return
            end = _End(client, listener)
            listener.tunnels += 1
            self._tunnels += 1
            end.step = lambda one, _, listener=listener: self._begin(one, listener)
            self._step(end, 0)

    def _begin(self, end: _End, listener: _Listener) -> None:
        end.sock.setblocking(False)
        end.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
                if one.listener is not None:
                    one.listener.tunnels -= 1
                    self._tunnels -= 1
                    one.listener = None
