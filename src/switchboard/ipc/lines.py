"""A connected socket as lines, for a program that waits for nothing else.

`_socket` is what `socket` is made of; the wrapper around it would cost the shim half its start.
"""

import _socket
import sys

from switchkit import sockets

_CHUNK = 65536


class Gone(Exception):
    """The other side closed the connection."""


class CannotStart(Exception):
    """There is no daemon, and none can be started."""


class Line:
    """One end of a connection."""

    def __init__(self, sock: _socket.socket, pid: int) -> None:
        self._sock = sock
        # Several, because an answer may be long; only the last may hold the end of a line.
        self._pending = [b""]
        self.pid = pid

    def say(self, text: bytes) -> None:
        """Send it all. Raises `OSError`, `TimeoutError` among them."""
        view = memoryview(text)
        while view:
            view = view[self._sock.send(view) :]

    def hear(self, timeout_s: "float | None") -> str:
        """The next line. Raises `Gone`, `TimeoutError`."""
        self._sock.settimeout(timeout_s)
        while not self.has_line:
            try:
                data = self._sock.recv(_CHUNK)
            except ConnectionError:
                data = b""
            if not data:
                raise Gone
            self._pending.append(data)
        line, _, rest = b"".join(self._pending).partition(b"\n")
        self._pending = [rest]
        return line.decode("utf-8", "replace")

    def put_back(self, line: str) -> None:
        """Have a line heard again, before whatever has come since."""
        self._pending = [line.encode() + b"\n" + b"".join(self._pending)]

    @property
    def has_line(self) -> bool:
        """Whether a whole line has come already."""
        return b"\n" in self._pending[-1]

    def fileno(self) -> int:
        return self._sock.fileno()

    def hand_over(self, text: bytes, files: "tuple[int, ...]") -> None:
        """Send text with open files beside it."""
        numbers = b"".join(number.to_bytes(4, sys.byteorder) for number in files)
        self._sock.sendmsg([text], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])

    def close(self) -> None:
        self._sock.close()


def connect(path: str, timeout_s: float) -> "Line | None":
    """A connection, or None when nobody listens there (or too many are waiting, for now).

    Raises `NotPrivate` when socket or listener are somebody else's, `TimeoutError`, `OSError`.
    """
    sock = sockets.connect(path, timeout_s)
    if sock is None:
        return None
    try:
        return Line(sock, sockets.check_peer(sock))
    except BaseException:
        sock.close()
        raise
