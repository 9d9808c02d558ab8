"""A wire that a test can cut: whatever comes is passed on, until every connection is dropped."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from switchboard.core.loop.tasks import TaskSet


class Proxy:
    """Passes bytes on between clients and one server."""

    def __init__(self, target: str) -> None:
        self._target = urlsplit(target)
        self._writers: set[asyncio.StreamWriter] = set()
        self._answered = bytearray()
        self._tasks = TaskSet()
        self.url = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}{self._target.path}"

    def has_passed(self, text: bytes) -> bool:
        """Whether the server has said this."""
        return text in self._answered

    def cut(self) -> None:
        """Drop every connection without a word."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = self._target.port
        there, back = await asyncio.open_connection("127.0.0.1", port)
        self._writers |= {writer, back}
        self._tasks.start(self._pass_on(reader, back, b""))
        await self._pass_on(there, writer, b"answers")

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: bytes
    ) -> None:
        try:
            while data := await reader.read(65536):
                if kind:
                    self._answered += data
                else:
                    # The server is called by its own name only.
                    name = self._target.netloc.encode()
                    data = data.replace(urlsplit(self.url).netloc.encode(), name)
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)

    async def aclose(self) -> None:
        self._server.close()
        self.cut()
        await self._tasks.aclose()


@asynccontextmanager
async def cutting_proxy(target: str) -> AsyncGenerator[Proxy]:
    proxy = Proxy(target)
    await proxy.open()
    try:
        yield proxy
    finally:
        await proxy.aclose()
