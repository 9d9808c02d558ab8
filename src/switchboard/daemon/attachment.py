"""A process that is attached to the daemon: a shim, a command, or one that wants HTTP served.

It said hello and was told that its board is ready. It hands over what it wants to have served (its
client's streams, or a listening socket), or asks something of the board.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from switchboard.children.listings.kept_words import kept_words
from switchboard.control.connection import SocketConnection
from switchboard.control.served_clients import noted
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Boards
from switchboard.core.sessions import Session
from switchboard.daemon.ancestors import Acting, acting_for, runs_above
from switchboard.daemon.board.instructions import bridge_words, instructions_for
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.daemon.board.registry import BoardHandle
from switchboard.daemon.held_files import too_many_files
from switchboard.daemon.hello import Hello
from switchboard.daemon.logs.stderr import write_failure
from switchboard.daemon.sessions.client_programs import clients_above
from switchboard.ipc.ledger import Ledger
from switchboard.ipc.lines import Gone
from switchboard.ipc.protocol import (
    BACK,
    BEAT,
    DECLINED,
    END,
    GREETING_S,
    LISTENING,
    MAX_HELLO_BYTES,
    STREAMS,
)
from switchboard.settings.sections import Settings
from switchboard.surface.kept_streams import KeptStreams
from switchboard.surface.resuming import checkpoint_from, checkpoint_of, resume
from switchboard.surface.stdio import StreamClient, connect
from switchboard.wire.frames import MAX_MESSAGE_BYTES
from switchboard.wire.pipes import CLIENT_UNREAD_BYTES, Loss, StreamPipe
from switchkit.platform.streams import stream_of
from switchkit.processes import began, parent_of

if TYPE_CHECKING:
    from switchboard.control.api import Control
    from switchboard.daemon.http_attachment import ServeHandedOver
    from switchboard.runs.service import RunService


# How often it is looked whether nothing of a client is open any more.
_LOOK_AGAIN_S = 0.02


class Handed(NamedTuple):
    """The streams of a client, and the files of their ledger, if there is one."""

    reading: int
    writing: int
    ledger: tuple[int, ...]


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
        # A client whose streams can be left to another daemon.
        self._kept: tuple[StreamClient, KeptStreams] | None = None
        self._is_handed_back = False
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

    def hand_back(self, *, at_once: bool = False) -> None:
        """Leave the client to another daemon, as soon as nothing of it is open.

        At once, what is open fails. Others than clients are served on, or end.
        """
        if self._kept is None:
            if at_once:
                self.dismiss()
            return
        client, streams = self._kept
        if client.gone.done() or self._leaving.done():
            if at_once:
                # What it left behind ends too.
                self.dismiss()
            return
        if at_once or client.is_idle:
            self._is_handed_back = True
            streams.detach()
            self._connection.say(BACK)
            self.dismiss()
        else:
            asyncio.get_running_loop().call_later(_LOOK_AGAIN_S, self.hand_back)

    async def stay(self, control: "Callable[[], Control]") -> None:
        """Serve until the process, its client or the daemon wants to end.

        Most are shims, which need no control.
        """
        line = await self._connection.line(MAX_MESSAGE_BYTES, GREETING_S)
        if self._connection.has_lost_files:
            self._decline(line)
            return
        match self._connection.take_files(), line + b"\n":
            case [reading, writing, *ledger], words if words == STREAMS and len(ledger) in (0, 2):
                await self._serve_streams(Handed(reading, writing, tuple(ledger)))
            case [listening], _:
                await self._serve_socket(listening, line, control())
            case [], _:
                await self._serve_requests(line, control())
            case files, _:
                for number in files:
                    os.close(number)
                raise Gone

    def _decline(self, line: bytes) -> None:
        """Say that what was handed over has not come: whoever did it has it still."""
        for number in self._connection.take_files():
            os.close(number)
        if line + b"\n" == STREAMS:
            self._connection.say(f"{DECLINED} {too_many_files()}")
            return
        from switchboard.control.messages import fault_line  # noqa: PLC0415 - shims ask nothing

        short = Fault(
            FaultCode.RESOURCE_EXHAUSTED,
            "too-many-files",
            f"the daemon cannot take the socket: {too_many_files()}",
            hint="end some clients, or raise the limit and type `switchboard daemon restart`",
        )
        self._connection.say(fault_line(short).decode().rstrip("\n"))

    async def _serve_streams(self, handed: Handed) -> None:
        """Serve the client whose streams a shim has handed over."""
        runtime = self.board.runtime
        if self._bridged is None:
            await self._serve_client(
                handed, runtime.boards, lambda: instructions_for(runtime), runtime.warm
            )
            return
        words = bridge_words(self._bridged)
        async with runtime.view(self._bridged) as view:
            await self._serve_client(handed, CurrentBoard(view), lambda: words)

    async def _serve_client(
        self,
        handed: Handed,
        boards: Boards,
        instructions: Callable[[], str],
        on_listed: Callable[[], None] | None = None,
    ) -> None:
        runtime, acting = self.board.runtime, self.acting
        # Before the streams are used: the shim may have closed its own by now.
        above = clients_above(self.pid, stream_of(os.getpid(), handed.reading))
        host = parent_of(self.pid)
        ledger = Ledger(*handed.ledger) if handed.ledger else None
        before = checkpoint_from(ledger.checkpoint() if ledger else b"")
        pipe = StreamPipe(style=before.framing, unread=CLIENT_UNREAD_BYTES)
        client = StreamClient(
            pipe,
            boards,
            runtime.events,
            workspace=runtime.settings.workspace,
            started_in=self.hello.cwd,
            instructions=instructions,
            via="daemon",
            on_listed=on_listed,
            client_pid=host,
            client_began=began(host),
            on_behalf_of=(*acting.pids, *above[1:]),
            acts_for=acting.words,
            depth=self._depth,
            is_pinned=self.hello.is_pinned,
        )
        # The shim stays when this daemon ends, and so does what its session was told.
        kept_words(runtime.settings.home).follow(
            client.endpoint.session.holder, f"{self.pid}-{began(self.pid)}"
        )
        self.sessions = lambda: (client.endpoint.session,)
        runtime.on_changed.add(client.endpoint.changed)
        streams: KeptStreams | None = None
        if ledger is not None:
            streams = KeptStreams(
                pipe, ledger, handed.reading, handed.writing, partial(checkpoint_of, client)
            )
            self._kept = (client, streams)
        try:
            with (
                noted(runtime.settings.home, self.pid, above),
                contextlib.suppress(OSError, ValueError),
            ):
                if streams is None:
                    await connect(pipe, handed.reading, handed.writing)
                else:
                    streams.open(partial(resume, client, before))
                await self._until_left(client.gone)
        finally:
            runtime.on_changed.discard(client.endpoint.changed)
            self.sessions = tuple
            has_left = not self._leaving.done()
            await client.aclose(has_left=has_left)
            # Both ends: unlike a process, a daemon does not close what it forgets.
            pipe.abort(Loss(message="closed"))
            if streams is not None:
                streams.close()
            if not self._is_handed_back:
                self._connection.say(f"{END} 0")
            await self._finish(client.left_behind)

    async def _finish(self, left_behind: TaskSet) -> None:
        """Do to the end what a client has begun and left, unless we have to leave ourselves.

        The board, and the daemon, stay for that long.
        """
        if left_behind:
            async with TaskSet() as tasks:
                ending = tasks.start(left_behind.wait())
                await asyncio.wait({ending, self._leaving}, return_when=asyncio.FIRST_COMPLETED)
        await left_behind.aclose()

    async def _serve_socket(self, number: int, line: bytes, control: "Control") -> None:
        """Serve HTTP on a socket that is bound already, until the other end says anything."""
        from switchboard.control.messages import fault_line, unexpected  # noqa: PLC0415 - shims ask nothing

        try:
            # The HTTP stack takes a while to load, and the loop has others to serve.
            serve = await asyncio.to_thread(_http_stack)
            runtime = self.board.runtime
            with noted(runtime.settings.home, self.pid, clients_above(self.pid), is_open=True):
                async with (
                    serve(
                        runtime,
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
                    await self._until_left(
                        tasks.start(self._connection.line(MAX_HELLO_BYTES, None))
                    )
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
