"""Bytes from one side to the other, counted and not looked into."""

import asyncio
import contextlib
from collections.abc import Callable

from switchboard.egress.limits import CHUNK


class Meter:
    """How much went which way, and when something last did."""

    def __init__(self) -> None:
        self.up = 0
        self.down = 0


async def relay(
    child: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    meter: Meter,
    *,
    idle_s: float,
) -> None:
    """Pass bytes on both ways until both sides have ended, or nothing came for too long."""
    loop = asyncio.get_running_loop()
    last = loop.time()

    def count(up: int, down: int) -> None:
        nonlocal last
        last = loop.time()
        meter.up += up
        meter.down += down

    pumps = asyncio.gather(
        _pump(child[0], upstream[1], lambda size: count(size, 0)),
        _pump(upstream[0], child[1], lambda size: count(0, size)),
    )
    try:
        while not pumps.done():
            rest = last + idle_s - loop.time()
            if rest <= 0:
                break
            await asyncio.wait({pumps}, timeout=rest)
    finally:
        pumps.cancel()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await pumps


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None]
) -> None:
    while data := await reader.read(CHUNK):
        count(len(data))
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
