"""Calls over HTTP as cheap for the client as can be: prebuilt bytes on connections that stay."""

import contextlib
import json
import select
import socket
import time
from itertools import cycle
from typing import NamedTuple

_DIFFERENT = 1_000
_READ_BYTES = 1 << 16


class EraWords(NamedTuple):
    """What a client of one era says."""

    version: str
    is_modern: bool


HANDSHAKE = EraWords("2025-11-25", is_modern=False)
MODERN = EraWords("2026-07-28", is_modern=True)


class HttpCalls:
    """One client of a gateway, with as many connections as it needs; `first` is the first."""

    def __init__(self, port: int, token: str, era: EraWords, stack: contextlib.ExitStack) -> None:
        self._port = port
        self._stack = stack
        self._open: list[socket.socket] = []
        self._head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {era.version}\r\n"
        )
        self.first = self._connection(0)
        meta: dict[str, object] = {}
        if era.is_modern:
            meta = {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": era.version,
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
                }
            }
            self._head += "Mcp-Method: tools/call\r\nMcp-Name: c0_suite\r\n"
        else:
            self._greet(era.version)
        self._requests = cycle(self._request(each, meta) for each in range(_DIFFERENT))

    def _greet(self, version: str) -> None:
        about = {"name": "bench", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": about}
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        self.first.sendall(self._whole(json.dumps(hello).encode()))
        head = self.read(self.first).partition(b"\r\n\r\n")[0]
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            if name.lower() == "mcp-session-id":
                self._head += f"Mcp-Session-Id: {value}\r\n"
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.first.sendall(self._whole(json.dumps(told).encode()))
        self.read(self.first, b"HTTP/1.1 202")

    def _request(self, number: int, meta: dict[str, object]) -> bytes:
        # All different: the same call that is sent again before its answer is run once.
        args = {"message": f"one of many {number:04}"}
        inner = {"action": "call", "subtool": "echo", "args": args}
        params = {"name": "c0_suite", "arguments": inner, **meta}
        call = {"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params}
        return self._whole(json.dumps(call, separators=(",", ":")).encode())

    def _whole(self, body: bytes) -> bytes:
        return f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _connection(self, number: int) -> socket.socket:
        while len(self._open) <= number:
            made = socket.create_connection(("127.0.0.1", self._port), timeout=30)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.append(self._stack.enter_context(made))
        return self._open[number]

    def next_request(self) -> bytes:
        return next(self._requests)

    def read(self, connection: socket.socket, begins: bytes = b"HTTP/1.1 200") -> bytes:
        """A whole response, which has to begin like this."""
        data = connection.recv(_READ_BYTES)
        while not _is_whole(data):
            more = connection.recv(_READ_BYTES)
            assert more, data
            data += more
        assert data.startswith(begins), data
        assert b'"isError":true' not in data, data
        return data

    def one(self) -> float:
        """Seconds of one call."""
        request, connection = next(self._requests), self.first
        began = time.perf_counter()
        connection.sendall(request)
        self.read(connection)
        return time.perf_counter() - began

    def warm(self, count: int) -> None:
        for _ in range(count):
            self.one()

    def many(self, window: int, seconds: float) -> tuple[int, float]:
        """Keep so many in flight; gives the calls and the seconds that they took."""
        waiting = select.epoll()
        by_number: dict[int, socket.socket] = {}
        for number in range(window):
            each = self._connection(number)
            by_number[each.fileno()] = each
            waiting.register(each.fileno(), select.EPOLLIN)
        requests, done = self._requests, 0
        began = time.perf_counter()
        for each in by_number.values():
            each.sendall(next(requests))
        while by_number:
            is_over = time.perf_counter() - began > seconds
            for number, _ in waiting.poll(30):
                each = by_number[number]
                self.read(each)
                done += 1
                if is_over:
                    waiting.unregister(number)
                    del by_number[number]
                else:
                    each.sendall(next(requests))
        spent = time.perf_counter() - began
        waiting.close()
        return done, spent


def _is_whole(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return False
    before, found, rest = head.lower().partition(b"content-length: ")
    del before
    if found:
        return len(body) >= int(rest.partition(b"\r\n")[0])
    return body.endswith(b"0\r\n\r\n")
