"""Serving clients in process until they leave or a signal comes."""

import asyncio
import signal
import sys
from collections.abc import Coroutine, Mapping
from typing import Any

from switchboard.core.bus import EventBus
from switchboard.daemon.instructions import instructions_for
from switchboard.daemon.log import Log
from switchboard.daemon.runtime import running
from switchboard.settings.sections import Settings
from switchboard.surface.stdio import StreamClient, connect
from switchboard.wire.pipes import StreamPipe


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run on the fastest event loop there is."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some systems
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


async def serve_stdio(settings: Settings, environ: Mapping[str, str]) -> int:
    """Serve one client on our standard streams."""
    log = Log(style=settings.logging.format, directives=settings.logging.filter)
    async with running(settings, environ=environ, events=EventBus(log)) as runtime:
        # The framing of the client's first message is the framing of every answer.
        pipe = StreamPipe(style=None)
        client = StreamClient(
            pipe,
            runtime.boards,
            runtime.events,
            workspace=settings.workspace,
            instructions=instructions_for(settings),
            on_listed=runtime.warm,
        )
        stopped = _until_signal()
        await connect(pipe, sys.stdin.buffer, sys.stdout.buffer)
        await asyncio.wait({client.gone, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await client.aclose()
    return 0


def _until_signal() -> "asyncio.Future[int]":
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
    return stopped
