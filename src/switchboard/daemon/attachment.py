"""A process that is attached to the daemon: a shim, a command, or one that wants HTTP served.

It said hello and was told that its board is ready. It hands over what it wants to have served (its
client's streams, or a listening socket), or asks something of the board.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from switchboard.approvals.client_programs import clients_above
from switchboard.control.connection import SocketConnection
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Boards
from switchboard.core.sessions import Session
from switchboard.daemon.ancestors import Acting, acting_for, runs_above
from switchboard.daemon.board.instructions import bridge_words, instructions_for
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.daemon.board.registry import BoardHandle
from switchboard.daemon.hello import Hello
from switchboard.daemon.logs.stderr import write_failure
from switchboard.ipc.lines import Gone
from switchboard.ipc.protocol import BEAT, END, GREETING_S, LISTENING, MAX_HELLO_BYTES, STREAMS
from switchboard.settings.sections import Settings
from switchboard.surface.stdio import StreamClient, connect
from switchboard.wire.frames import MAX_MESSAGE_BYTES
from switchboard.wire.pipes import CLIENT_UNREAD_BYTES, Loss, StreamPipe
from switchkit.processes import parent_of

if TYPE_CHECKING:
    from switchboard.control.api import Control
    from switchboard.daemon.http_attachment import ServeHandedOver
    from switchboard.runs.service import RunService


class Attachment:
    """One process and its board, from `ready` to the end of the connection."""

    def __init__(
        self,
        connection: SocketConnection,
        hello: Hello,
        board: BoardHandle,
        # Of a bridge, which shows one server of the board alone.
        bridged: Settings | None = None,
        *,
        runs: "Callable[[], RunService | None]",
    ) -> None:
        """`runs` are those under way, if somebody has opened them."""
        self._runs = runs
        self._bridged = bridged
        self._connection = connection
        self._leaving: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The clients that are served through it.
        self.sessions: Callable[[], Iterable[Session]] = tuple
        self.hello = hello
        self.board = board

    @property
    def pid(self) -> int:
        """The process at the other end."""
        return self._connection.pid

    @property
    def _depth(self) -> int:
        return runs_above(self.pid, self.hello.runs_above)

    @property
    def acting(self) -> Acting:
        """For whom the process at the other end acts."""
        return acting_for(self.pid, self._runs())

    def beat(self) -> None:
        """Tell the other end that we are not frozen."""
        if not self._connection.is_behind:
            self._connection.say(BEAT)

    def dismiss(self) -> None:
        """End whatever is served through it."""
        if not self._leaving.done():
            self._leaving.set_result(None)

    async def stay(self, control: "Callable[[], Control]") -> None:
        """Serve until the process, its client or the daemon wants to end.

        Most are shims, which need no control.
        """
        line = await self._connection.line(MAX_MESSAGE_BYTES, GREETING_S)
        match self._connection.take_files(), line + b"\n":
            case [reading, writing], words if words == STREAMS:
                await self._serve_streams(reading, writing)
            case [listening], _:
                await self._serve_socket(listening, line, control())
            case [], _:
                await self._serve_requests(line, control())
            case files, _:
                for number in files:
                    os.close(number)
                raise Gone

    async def _serve_streams(self, reading: int, writing: int) -> None:
        """Serve the client whose streams a shim has handed over."""
        runtime = self.board.runtime
        if self._bridged is None:
            await self._serve_client(
                reading, writing, runtime.boards, lambda: instructions_for(runtime), runtime.warm
            )
            return
        words = bridge_words(self._bridged)
        async with runtime.view(self._bridged) as view:
            await self._serve_client(reading, writing, CurrentBoard(view), lambda: words)

    async def _serve_client(
        self,
        reading: int,
        writing: int,
        boards: Boards,
        instructions: Callable[[], str],
        on_listed: Callable[[], None] | None = None,
    ) -> None:
        runtime, acting = self.board.runtime, self.acting
        pipe = StreamPipe(style=None, unread=CLIENT_UNREAD_BYTES)
        client = StreamClient(
            pipe,
            boards,
            runtime.events,
            workspace=runtime.settings.workspace,
            instructions=instructions,
            via="daemon",
            on_listed=on_listed,
            client_pid=parent_of(self.pid),
            on_behalf_of=(*acting.pids, *clients_above(self.pid)[1:]),
            acts_for=acting.words,
            depth=self._depth,
            is_pinned=self.hello.is_pinned,
        )
        self.sessions = lambda: (client.endpoint.session,)
        runtime.on_changed.add(client.endpoint.changed)
        try:
            with contextlib.suppress(OSError, ValueError):
                await connect(pipe, reading, writing)
                await self._until_left(client.gone)
        finally:
            runtime.on_changed.discard(client.endpoint.changed)
            await client.aclose()
            # Both ends: unlike a process, a daemon does not close what it forgets.
            pipe.abort(Loss(message="closed"))
            self._connection.say(f"{END} 0")

    async def _serve_socket(self, number: int, line: bytes, control: "Control") -> None:
        """Serve HTTP on a socket that is bound already, until the other end says anything."""
        from switchboard.control.messages import fault_line, unexpected  # noqa: PLC0415 - shims ask nothing

        try:
            # The HTTP stack takes a while to load, and the loop has others to serve.
            serve = await asyncio.to_thread(_http_stack)
            async with (
                serve(
                    self.board.runtime,
                    number,
                    line,
                    control.over_http(),
                    depth=self._depth,
                    is_pinned=self.hello.is_pinned,
                ) as surface,
                TaskSet() as tasks,
            ):
                self.sessions = surface.sessions
                self._connection.say(LISTENING)
                await self._until_left(tasks.start(self._connection.line(MAX_HELLO_BYTES, None)))
            last_word = f"{END} 0"
        except Fault as fault:
            last_word = fault_line(fault).decode()
        except Exception:  # noqa: BLE001 - whoever waits for its listener is told
            write_failure()
            last_word = fault_line(unexpected()).decode()
        finally:
            os.close(number)
        self._connection.say(last_word.rstrip("\n"))

    async def _serve_requests(self, first: bytes, control: "Control") -> None:
        from switchboard.control.socket import serve_requests  # noqa: PLC0415 - shims ask nothing

        async with TaskSet() as tasks:
            work = tasks.start(serve_requests(control, self._connection, first))
            await self._until_left(work)
            if work.done():
                work.result()

    async def _until_left(self, done: "asyncio.Future[Any]") -> None:
        await asyncio.wait(
            {done, self._connection.gone, self._leaving}, return_when=asyncio.FIRST_COMPLETED
        )


def _http_stack() -> "ServeHandedOver":
    from switchboard.daemon.http_attachment import serve_handed_over  # noqa: PLC0415 - few serve HTTP

    return serve_handed_over
