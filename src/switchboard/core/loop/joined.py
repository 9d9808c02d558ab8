"""Work that several wait for: it is done once, and ends when the last of them has left."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterator
from typing import Any, Generic, TypeVar

from switchboard.core.loop.tasks import TaskSet

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Joined(Generic[K, T]):
    """Work under way, by a key that says what it is."""

    def __init__(self, tasks: TaskSet) -> None:
        self._tasks = tasks
        self._under_way: dict[K, _Work[T]] = {}

    def __iter__(self) -> Iterator[K]:
        """The keys of what is under way."""
        return iter(self._under_way)

    async def wait(
        self,
        key: K,
        begin: Callable[[], Coroutine[Any, Any, T]],
        *,
        on_left: Callable[[], object] = lambda: None,
    ) -> T:
        """What the work under this key brings, which is begun if nobody waits for it yet.

        `on_left` is called if this was the last who waited, and the work is given up.
        """
        work = self._under_way.get(key)
        if work is None:
            task: asyncio.Task[T] = self._tasks.start(begin())
            work = self._under_way[key] = _Work(task)
            task.add_done_callback(lambda _: self._forget(key, task))
        work.waiting += 1
        try:
            return await asyncio.shield(work.task)
        except asyncio.CancelledError:
            if work.waiting == 1 and not work.task.done():
                # At once: who comes now must not wait for what is ending.
                self._forget(key, work.task)
                work.task.cancel()
                on_left()
            raise
        finally:
            work.waiting -= 1

    def _forget(self, key: K, task: "asyncio.Task[T]") -> None:
        if (work := self._under_way.get(key)) and work.task is task:
            del self._under_way[key]


class _Work(Generic[T]):
    """One task, and how many wait for it."""

    def __init__(self, task: "asyncio.Task[T]") -> None:
        self.task = task
        self.waiting = 0
