"""How a process ends: its input closes, then it is asked, then it is made to. Bounded, shielded."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable

from switchboard.procs.spawn import Running

# At once, or after what is left to say.
CloseInput = Callable[[], Awaitable[None] | None]
CLOSE_GRACE_S = 1.0
TERM_GRACE_S = 2.0


async def stop(
    running: Running, *, close_input: CloseInput, close_grace_s: float = CLOSE_GRACE_S
) -> int:
    """End a process and everything it started; return its exit status.

    A cancelled caller does not leave it half done.
    """
    return await asyncio.shield(asyncio.ensure_future(_stop(running, close_input, close_grace_s)))


async def _stop(running: Running, close_input: CloseInput, close_grace_s: float) -> int:
    await running.look()
    if (closing := close_input()) is not None:
        await closing
    if not await _exits(running, close_grace_s):
        await running.signal(signal.SIGTERM)
        if not await _exits(running, TERM_GRACE_S):
            await running.kill()
    status = await running.exited
    # The leader's end says nothing of what it started.
    await running.kill_rest()
    return status


async def _exits(running: Running, patience_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            await asyncio.shield(running.exited)
    return running.exited.done()
