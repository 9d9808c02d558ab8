"""Streamable HTTP: one request on a connection at a time, as many connections as are in flight."""

import select
import selectors
import socket
import time
from collections import deque
from collections.abc import Mapping

from .link import Json, LinkLostError
from .reply import Reply

READ_BYTES = 1 << 18
SETTLE_SECONDS = 0.25
POLL_SECONDS = 0.004
MODERN_FROM = "2026-07-28"


class Address:
    """Where a row listens on loopback."""

    def __init__(self, port: int, path: str, headers: Mapping[str, str]) -> None:
        self.port = port
        self.path = path
        self.headers = "".join(f"{name}: {value}\r\n" for name, value in headers.items())

    def connect(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def listens(self) -> bool:
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def request(self, verb: str, path: str, headers: str, body: bytes) -> bytes:
        head = (
            f"{verb} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{self.headers}{headers}\r\n"
        )
        return head.encode() + body


def ended(idle: socket.socket) -> bool:
    """Say whether the other side has closed a connection on which nothing is awaited."""
    waiting = select.poll()
    waiting.register(idle, select.POLLIN)
    return bool(waiting.poll(0))


class _Connection:
    """One keep-alive connection and the response that it waits for."""

    def __init__(self, made: socket.socket) -> None:
        self.socket = made
        self.reply = Reply()
        self.taken = 0

    def ask(self, request: bytes) -> None:
        self.reply = Reply()
        self.taken = 0
        self.socket.sendall(request)


class WebLink:
    """Speaks to one address; keeps the session that it is given."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[_Connection] = []
        self._busy = selectors.DefaultSelector()
        self._answers: deque[Json] = deque()
        self._session = ""
        self._version = ""

    def send(self, body: bytes, *, method: str, name: str | None = None) -> None:
        request = self._request(body, method, name)
        try:
            connection = self._open_connection()
            connection.ask(request)
        except OSError as error:
            raise LinkLostError(f"cannot send: {error}") from error
        self._busy.register(connection.socket, selectors.EVENT_READ, connection)

    def _open_connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if not ended(connection.socket):
                return connection
            connection.socket.close()
        return _Connection(self._address.connect())

    def _request(self, body: bytes, method: str, name: str | None) -> bytes:
        headers = (
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"Content-Length: {len(body)}\r\n{self._session}{self._version}"
        )
        if self._version.endswith(f"{MODERN_FROM}\r\n"):
            headers += f"Mcp-Method: {method}\r\n"
            headers += f"Mcp-Name: {name}\r\n" if name else ""
        return self._address.request("POST", self._address.path, headers, body)

    def receive(self, seconds: float) -> Json:
        end = time.perf_counter() + seconds
        while not self._answers:
            if not self._read(end - time.perf_counter()):
                raise LinkLostError("no answer in time")
        return self._answers.popleft()

    def _read(self, seconds: float) -> bool:
        ready = self._busy.select(max(seconds, 0)) if self._busy.get_map() else []
        for key, _ in ready:
            connection: _Connection = key.data
            try:
                self._feed(connection)
            except (OSError, LinkLostError) as error:
                self._forget(connection)
                raise LinkLostError(str(error)) from error
        return bool(ready)

    def _feed(self, connection: _Connection) -> None:
        reply = connection.reply
        reply.feed(connection.socket.recv(READ_BYTES))
        for message in reply.messages[connection.taken :]:
            if "method" not in message:
                self._answers.append(message)
        connection.taken = len(reply.messages)
        if not reply.done:
            return
        if reply.status >= 400 and not reply.messages:
            self._answers.append({"error": {"code": reply.status, "message": "HTTP"}})
        if session := reply.headers.get("mcp-session-id"):
            self._session = f"Mcp-Session-Id: {session}\r\n"
        if reply.headers.get("connection", "").lower() == "close":
            self._forget(connection)
        else:
            self._busy.unregister(connection.socket)
            self._idle.append(connection)

    def _forget(self, connection: _Connection) -> None:
        self._busy.unregister(connection.socket)
        connection.socket.close()

    def settle(self) -> None:
        end = time.perf_counter() + SETTLE_SECONDS
        while self._busy.get_map():
            if not self._read(end - time.perf_counter()):
                for key in list(self._busy.get_map().values()):
                    self._forget(key.data)

    def agreed(self, version: str) -> None:
        self._version = f"MCP-Protocol-Version: {version}\r\n"

    def close(self) -> None:
        for key in list(self._busy.get_map().values()):
            self._forget(key.data)
        for connection in self._idle:
            connection.socket.close()
        self._busy.close()
