"""One client of the daemon: its shim, the streams that the shim handed over, its session."""

import asyncio
import contextlib
import os

from switchboard.core.sessions import Session
from switchboard.daemon.boards import BoardHandle
from switchboard.daemon.connection import Connection
from switchboard.daemon.hello import Hello
from switchboard.daemon.instructions import instructions_for
from switchboard.ipc.lines import Gone
from switchboard.ipc.words import BEAT, END, GREETING_S, MAX_HELLO_BYTES, STREAMS
from switchboard.surface.stdio import StreamClient, connect
from switchboard.wire.pipes import Loss, StreamPipe
from switchkit.processes import parent_of

_STREAMS = 2


class Attachment:
    """A session from its streams' arrival to its end."""

    def __init__(self, connection: Connection, hello: Hello, board: BoardHandle) -> None:
        self._connection = connection
        self._leaving: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._client: StreamClient | None = None
        self.hello = hello
        self.board = board

    @property
    def pid(self) -> int:
        """The process of its shim."""
        return self._connection.pid

    @property
    def session(self) -> Session | None:
        """What is known of the client, once it is being served."""
        return self._client.front.session if self._client is not None else None

    def beat(self) -> None:
        """Tell the shim that we are not frozen."""
        if not self._connection.is_behind:
            self._connection.say(BEAT)

    def dismiss(self) -> None:
        """End the session."""
        if not self._leaving.done():
            self._leaving.set_result(None)

    async def stay(self) -> None:
        """Take the streams and serve until the client, its shim or the daemon wants to end."""
        connection = self._connection
        line = await connection.line(MAX_HELLO_BYTES, GREETING_S)
        files = connection.take_files()
        if line + b"\n" != STREAMS or len(files) != _STREAMS:
            _close(files)
            raise Gone
        runtime = self.board.runtime
        pipe = StreamPipe(style=None)
        self._client = client = StreamClient(
            pipe,
            runtime.boards,
            runtime.events,
            workspace=runtime.settings.workspace,
            instructions=lambda: instructions_for(runtime),
            via="daemon",
            on_listed=runtime.warm,
            client_pid=parent_of(self.pid),
        )
        runtime.on_changed.add(client.front.changed)
        try:
            with contextlib.suppress(OSError, ValueError):
                await connect(pipe, files[0], files[1])
                await asyncio.wait(
                    {client.gone, connection.gone, self._leaving},
                    return_when=asyncio.FIRST_COMPLETED,
                )
        finally:
            runtime.on_changed.discard(client.front.changed)
            await client.aclose()
            # Both ends: unlike a process, a daemon does not close what it forgets.
            pipe.abort(Loss(message="closed"))
            connection.say(f"{END} 0")


def _close(files: list[int]) -> None:
    for number in files:
        os.close(number)
