"""Requests to our own HTTP: each is answered or refused, and none with an error of ours."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from switchboard.core.bus import EventBus
from switchboard.daemon.board.runtime import running
from switchboard.settings.sections import Settings
from switchboard.surface.http.access import Access, hosts_of
from switchboard.surface.http.connection import Bounds, HttpConnection, UnfinishedHeads
from switchboard.surface.http.surface import HttpSurface

_HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8081\r\nAuthorization: Bearer t\r\n"
_JSON = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
_LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
SEEDS = (
    # Junk after an answer.
    _HEAD.replace(b"/mcp", b"/x")
    + b"Transfer-Encoding: chunked\r\n\r\n5\r\n\r\xae\xae\xae\xaePOST",
    _HEAD + _JSON + b"Content-Length: 46\r\n\r\n" + _LIST,
    _HEAD + _JSON + b"MCP-Protocol-Version: 2026-07-28\r\nContent-Length: 46\r\n\r\n" + _LIST,
    _HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    _HEAD + _JSON + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n",
    b"GET /mcp HTTP/1.1\r\nHost: evil\r\n\r\n",
    b"GET /control/status HTTP/1.0\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\nHost: b\r\nOrigin: null\r\n\r\n",
)
# What an answer to the few bytes of one input may be.
_MOST_BYTES = 1 << 20
_TURNS = 30


class _Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 8081)})
        self.sent = bytearray()
        self._closing = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self._closing = True

    def abort(self) -> None:
        self._closing = True

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        del high, low


class _Ground:
    """A surface without any server, and the loop that it lives in."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self.config = self.loop.run_until_complete(self._open())

    async def _open(self) -> uvicorn.Config:
        folder = tempfile.mkdtemp(prefix="fuzz-")
        settings = Settings(workspace=folder, home=f"{folder}/home", is_guarded=False)
        events = EventBus()
        runtime = await self._stack.enter_async_context(
            running(settings, environ={}, events=events)
        )
        access = Access(token="t", hosts=hosts_of("127.0.0.1", 8081))
        surface = HttpSurface(
            runtime.boards, events, access, workspace=folder, instructions=lambda: ""
        )
        config = uvicorn.Config(
            surface,
            http="h11",
            ws="none",
            lifespan="off",
            loop="none",
            log_config=None,
            # As where it is served: between the connection and the surface is nobody.
            interface="asgi3",
            proxy_headers=False,
        )
        config.load()
        return config

    async def send(self, data: bytes) -> bytes:
        """What comes back."""
        transport = _Transport()
        protocol = HttpConnection(
            heads=UnfinishedHeads(Bounds()),
            config=self.config,
            server_state=ServerState(),
            app_state={},
            _loop=self.loop,
        )
        protocol.connection_made(transport)
        half = len(data) // 2
        for part in (data[:half], data[half:]):
            if part and not transport.is_closing():
                protocol.data_received(part)
            for _ in range(_TURNS):
                await asyncio.sleep(0)
        protocol.connection_lost(None)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        return bytes(transport.sent)


@cache
def _ground() -> _Ground:
    return _Ground()


def check(data: bytes) -> None:
    """Send it in two parts."""
    ground = _ground()
    answer = ground.loop.run_until_complete(ground.send(data))
    assert len(answer) < _MOST_BYTES
    assert not answer or answer.startswith(b"HTTP/1."), answer[:80]
    assert b"HTTP/1.1 5" not in answer, (data, answer[:200])
