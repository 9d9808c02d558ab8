"""Tasks that somebody owns."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self


async def close_all(closings: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Close everything side by side, and only then raise the first failure."""
    for ended in await asyncio.gather(*closings, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended


class TaskSet:
    """A set of running tasks that ends them all when its owner leaves.

    Unlike `asyncio.TaskGroup` one failing task does not cancel the rest: these are calls of
    independent clients, and each of them reports its own failure.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(
        self,
        work: Coroutine[Any, Any, Any],
        then: Callable[["asyncio.Task[Any]"], None] | None = None,
    ) -> asyncio.Task[Any]:
        """Run `work` until it ends or the set does; `then` is told.

        Whoever has several things to do at its end does them in one: each costs a turn of the loop.
        """
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        if then is None:
            task.add_done_callback(self._tasks.discard)
        else:
            task.add_done_callback(partial(self._end, then))
        return task

    def _end(self, then: Callable[["asyncio.Task[Any]"], None], task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        then(task)

    def take(self, task: "asyncio.Task[Any]") -> None:
        """Own a task that runs already."""
        if not task.done():
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def __len__(self) -> int:
        """How many still run."""
        return len(self._tasks)

    async def wait(self) -> None:
        """Wait until everything that runs now has ended by itself."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def aclose(self) -> None:
        """Cancel what still runs and wait for it."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
