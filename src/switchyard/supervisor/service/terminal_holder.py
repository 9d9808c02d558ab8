"""The first process of a service with `tty = true`: it holds the service's terminal.

It writes what the service prints to its own output, which is the log, and lets people attach. It is
a process of its own so that the terminal outlives the supervisor, and it ends with the service.
"""

import contextlib
import fcntl
import os
import selectors
import signal
import socket
import struct
import termios
from types import FrameType

from switchkit.files import make_private_folder
from switchkit.sockets import bind, check_peer_user
from switchyard.control.terminal_frames import KEYS, SIZE, TerminalFrameReader

_FIRST_SIZE = (24, 80)
_SHOWN_BYTES = 8192
_MOST_UNSENT = 1 << 20
_NOT_FOUND = 127


def main(arguments: list[str]) -> int:
    """Run the command at a terminal; its exit code."""
    address, command = arguments[0], arguments[1:]
    # Signals reach the service by themselves; this process ends only with it.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, _heard)
    make_private_folder(os.path.dirname(address))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bind(address, listener, 8)
    pid, terminal = os.forkpty()
    if pid == 0:
        _become(command)
    _resize(terminal, *_FIRST_SIZE)
    try:
        _Terminal(terminal, listener).serve()
    finally:
        with contextlib.suppress(OSError):
            os.unlink(address)
    return _ended(pid)


def _heard(_: int, __: FrameType | None) -> None:
    """A handler that does nothing, which other programs do not inherit."""


def _become(command: list[str]) -> None:
    try:
        os.execvp(command[0], command)  # noqa: S606 - the project's own command
    except OSError as wrong:
        os.write(2, f"{wrong.strerror}: {command[0]}\n".encode())
    os._exit(_NOT_FOUND)


def _ended(pid: int) -> int:
    """How the service ended: this process ends in the same way."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _resize(terminal: int, rows: int, columns: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class _Attached:
    """One person at the terminal."""

    def __init__(self, connection: socket.socket, shown: bytes) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.unsent = shown
        self.reader = TerminalFrameReader()

    def send(self, data: bytes) -> bool:
        """Pass on what was printed; false when this one does not read."""
        self.unsent += data
        with contextlib.suppress(BlockingIOError):
            self.unsent = self.unsent[self.connection.send(self.unsent) :]
        return len(self.unsent) < _MOST_UNSENT


class _Terminal:
    """The service's end of the terminal in one hand, everybody who is attached in the other."""

    def __init__(self, terminal: int, listener: socket.socket) -> None:
        self._terminal = terminal
        self._listener = listener
        self._attached: list[_Attached] = []
        self._shown = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(terminal, selectors.EVENT_READ)
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> None:
        """Until the service has closed its end."""
        while True:
            for key, events in self._selector.select():
                if key.fd == self._terminal:
                    if not self._pass_on():
                        return
                elif key.fileobj is self._listener:
                    self._accept()
                else:
                    self._hear(key.data, events)

    def _pass_on(self) -> bool:
        try:
            data = os.read(self._terminal, 1 << 16)
        except OSError:
            return False
        if not data:
            return False
        # A full disk must not end the service.
        with contextlib.suppress(OSError):
            os.write(1, data.replace(b"\r\n", b"\n"))
        self._shown = (self._shown + data)[-_SHOWN_BYTES:]
        for one in list(self._attached):
            self._send(one, data)
        return True

    def _send(self, one: _Attached, data: bytes) -> None:
        try:
            kept = one.send(data)
        except OSError:
            kept = False
        if not kept:
            self._leave(one)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if one.unsent else 0)
        self._selector.modify(one.connection, wanted, one)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        try:
            check_peer_user(connection)
        except OSError:
            connection.close()
            return
        one = _Attached(connection, self._shown)
        self._attached.append(one)
        self._selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE, one)

    def _hear(self, one: _Attached, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._send(one, b"")
        if events & selectors.EVENT_READ and one in self._attached:
            try:
                raw = one.connection.recv(1 << 16)
            except OSError:
                raw = b""
            if not raw:
                self._leave(one)
            for kind, data in one.reader.read(raw):
                self._obey(kind, data)

    def _obey(self, kind: bytes, data: bytes) -> None:
        if kind == KEYS:
            with contextlib.suppress(OSError):
                os.write(self._terminal, data)
        elif kind == SIZE and len(data) == struct.calcsize("!HH"):
            _resize(self._terminal, *struct.unpack("!HH", data))

    def _leave(self, one: _Attached) -> None:
        self._attached.remove(one)
        self._selector.unregister(one.connection)
        one.connection.close()
