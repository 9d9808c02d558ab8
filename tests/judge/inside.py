"""Work on a thread of its own that is in the namespace of a part."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from judge.network import Network

_LAST_S = 60.0


def inside(network: Network, part: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do it there, and wait for it. Whatever ends the wait ends the work, which may clean up."""
    failures: list[BaseException] = []
    begun = threading.Event()
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    async def begin() -> None:
        task = asyncio.ensure_future(work())
        loops.append((asyncio.get_running_loop(), task))
        begun.set()
        await task

    def run() -> None:
        try:
            network.enter(part)
            asyncio.run(begin())
        except BaseException as failure:  # noqa: BLE001 - raised by whoever waits
            failures.append(failure)
        finally:
            begun.set()

    thread = threading.Thread(target=run, name=f"inside {part}")
    thread.start()
    try:
        thread.join()
    except BaseException:
        begun.wait(_LAST_S)
        for loop, task in loops:
            loop.call_soon_threadsafe(task.cancel)
        thread.join(_LAST_S)
        raise
    if failures:
        raise failures[0]
