"""Serving clients in process until they leave or a signal comes."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from switchboard.control.served_clients import noted
from switchboard.daemon.ancestors import runs_above
from switchboard.daemon.board.instructions import instructions_for
from switchboard.daemon.board.reload import Load, LoadTree, serving
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.sessions.client_programs import clients_above
from switchboard.ipc.environment import depth_of
from switchboard.ipc.protocol import LEDGER_VARIABLE
from switchboard.settings.sections import Settings
from switchboard.surface.resuming import SessionCheckpoint, checkpoint_from, resume
from switchboard.surface.stdio import StreamClient, connect, own_streams
from switchboard.wire.pipes import CLIENT_UNREAD_BYTES, StreamPipe
from switchkit.processes import began


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run on the fastest event loop there is."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some systems
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


async def serve_stdio(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    load: Load | None = None,
    load_tree: LoadTree | None = None,
    instructions: Callable[[Runtime], str] = instructions_for,
    is_pinned: bool = False,
) -> int:
    """Serve one client on our standard streams.

    `load` reads the settings again after a change, and `load_tree` those of other worktrees.
    """
    above, host = clients_above(os.getpid()), os.getppid()
    async with serving(settings, environ, load, load_tree) as runtime:
        # The framing of the client's first message is the framing of every answer.
        before, heard = _left_to_us(environ)
        pipe = StreamPipe(style=before.framing, unread=CLIENT_UNREAD_BYTES)
        client = StreamClient(
            pipe,
            runtime.boards,
            runtime.events,
            workspace=settings.workspace,
            started_in=os.getcwd(),
            instructions=lambda: instructions(runtime),
            on_listed=runtime.warm,
            client_pid=host,
            client_began=began(host),
            on_behalf_of=above[1:],
            depth=runs_above(os.getpid(), depth_of(dict(environ))),
            is_pinned=is_pinned,
        )
        runtime.on_changed.add(client.endpoint.changed)
        stopped = until_signal()

        def begin() -> None:
            resume(client, before)
            if heard:
                pipe.data_received(heard)

        with noted(settings.home, os.getpid(), above):
            await connect(pipe, *own_streams(), begin)
            await asyncio.wait({client.gone, stopped}, return_when=asyncio.FIRST_COMPLETED)
            await client.aclose()
    return 0


def _left_to_us(environ: Mapping[str, str]) -> tuple[SessionCheckpoint, bytes]:
    """How a session stood that a daemon served before, and what was read and not heard yet."""
    files = environ.get(LEDGER_VARIABLE, "")
    if not files:
        return SessionCheckpoint(), b""
    # Only here: mostly there is a daemon, and a first listing waits for every import.
    from switchboard.ipc.ledger import Ledger  # noqa: PLC0415

    try:
        ledger = Ledger(*map(int, files.split(",")))
    except (ValueError, TypeError, OverflowError, OSError):
        # Whoever wrote it is not the shim that we were started by.
        return SessionCheckpoint(), b""
    try:
        return checkpoint_from(ledger.checkpoint()), ledger.heard()
    finally:
        ledger.close()


def until_signal() -> "asyncio.Future[int]":
    """Done with the number of the first signal that asks us to stop."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
    return stopped
