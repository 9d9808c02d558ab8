"""A small world on loopback: servers of HTTP and HTTPS, names that lead to them, and a proxy."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from msgspec.structs import replace

from switchboard.core.events import Event
from switchboard.core.network.egress import egress_from
from switchboard.egress.limits import LIMITS, EgressLimits
from switchboard.egress.record import EgressRecord
from switchboard.egress.session_variables import SessionVariables
from switchboard.egress.tunnel import Meter, relay
from switchboard.egress.way_out import ProxiedWayOut, WayOutSpec

SECRET = "the-token-of-the-user"


class FakeResolver:
    """Names of the test. A name with several answers gives one after the other."""

    def __init__(self, **names: str | list[list[str]]) -> None:
        self.names = {name.replace("_", "."): found for name, found in names.items()}
        self.asked: list[str] = []

    async def addresses(self, host: str, port: int) -> list[str]:
        del port
        self.asked.append(host)
        if host[0].isdigit() or ":" in host:
            return [host]
        found = self.names.get(host)
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        if isinstance(found, str):
            return [found]
        return found.pop(0) if len(found) > 1 else found[0]


class Site:
    """A server that notes what it is sent, and answers with what the test wants."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.bodies: list[bytes] = []
        self.port = 0
        self.answer: Callable[[bytes], bytes] = lambda _: _ok(b"hello")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ssl.SSLError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head)
                length = 0
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                body = await reader.readexactly(length)
                if b"transfer-encoding: chunked" in head.lower():
                    body = await reader.readuntil(b"0\r\n\r\n")
                self.bodies.append(body)
                writer.write(self.answer(head))
                await writer.drain()
        writer.close()

    @contextlib.asynccontextmanager
    async def open(self, context: ssl.SSLContext | None = None) -> AsyncGenerator["Site"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()


def _ok(body: bytes, *headers: str) -> bytes:
    more = "".join(f"{each}\r\n" for each in headers)
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


ok = _ok


class OwnProxy(Site):
    """The proxy of the person: notes what it is asked for, and leads to one place."""

    def __init__(self, leads_to: int) -> None:
        super().__init__()
        self._leads_to = leads_to

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        if not head.startswith(b"CONNECT"):
            writer.write(ok(b"through the proxy"))
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        there = await asyncio.open_connection("127.0.0.1", self._leads_to)
        with contextlib.suppress(OSError):
            await relay((reader, writer), there, Meter(), idle_s=10)
        there[1].close()
        writer.close()


class Heard:
    """Events, in a list."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event, /) -> None:
        self.events.append(event)


class Out:
    """A way out whose inside is here: the socket that a sandbox would have made is ours."""

    def __init__(
        self, way_out: ProxiedWayOut, port: int, record: EgressRecord, heard: Heard
    ) -> None:
        self.way_out = way_out
        self.port = port
        self.record = record
        self.heard = heard

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def raw(self, sent: bytes, *, then_eof: bool = False) -> bytes:
        """Everything that comes back for some bytes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(sent)
            if then_eof:
                writer.write_eof()
            async with asyncio.timeout(20):
                return await reader.read(-1)
        finally:
            writer.close()

    def rows(self, outcome: str) -> list[tuple[str, int, str]]:
        found = self.record.rows()
        return [(each.host, each.port, each.why) for each in found if each.outcome == outcome]


@contextlib.asynccontextmanager
async def way_out(
    hosts: list[str] | Mapping[str, Any],
    resolver: FakeResolver,
    *,
    environ: Mapping[str, str] = {},
    limits: EgressLimits = LIMITS,
    **more: Any,
) -> AsyncGenerator[Out]:
    """Open the way out of somebody with these hosts."""

    async def look_up() -> Mapping[str, str]:
        return {"env:TOKEN": SECRET}

    record, heard = EgressRecord(), Heard()
    spec = WayOutSpec(
        server="tool",
        hosts=egress_from(hosts),
        variables=SessionVariables(environ=environ, own=environ),
        look_up=look_up,
        limits=limits,
    )
    made = ProxiedWayOut(replace(spec, **more), resolver, record, heard)
    listener = socket.create_server(("127.0.0.1", 0))
    assert made.outlet.handover is not None
    with socket.socket(fileno=made.outlet.handover.fileno()) as handover:
        socket.send_fds(handover, [b"1"], [listener.fileno()])
        handover.detach()
    port = listener.getsockname()[1]
    listener.close()
    try:
        yield Out(made, port, record, heard)
    finally:
        await made.aclose()
