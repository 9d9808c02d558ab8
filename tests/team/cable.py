"""The link of one process to the database, which a test can cut without anybody being told."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from switchboard.postgres.address import DatabaseAddress


class Cable:
    """Passes bytes on until it is cut; then both sides hear nothing, and nothing is closed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._whole = asyncio.Event()
        self._whole.set()
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._whole.wait()
        theirs, to_them = await asyncio.open_connection("127.0.0.1", self._port)
        for source, sink in ((reader, to_them), (theirs, writer)):
            task = asyncio.ensure_future(self._pass_on(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                await self._whole.wait()
                sink.write(data)
                await sink.drain()
        sink.close()

    async def aclose(self) -> None:
        self.mend()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def cable(address: DatabaseAddress) -> AsyncGenerator[tuple[Cable, DatabaseAddress]]:
    """Give a link to a database, and the address of its near end."""
    head, _, name = address.url.rpartition("/")
    start, _, port = head.rpartition(":")
    made = Cable(int(port))
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    near = server.sockets[0].getsockname()[1]
    try:
        yield made, DatabaseAddress(f"{start}:{near}/{name}")
    finally:
        server.close()
        await made.aclose()
