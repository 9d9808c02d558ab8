"""One thread for work that blocks, so that the event loop never waits for a disk or a lock."""

import asyncio
import contextlib
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Literal, NamedTuple, TypeVar

T = TypeVar("T")
# How long closing waits for work that is under way: no disk may keep a program from ending.
_GOODBYE_S = 3.0


class _Job(NamedTuple):
    work: Callable[[], Any]
    done: asyncio.Future[Any]


class WorkerThread:
    """Runs one piece of work after the other. Its thread starts with the first one."""

    def __init__(
        self, name: str, *, look: Callable[[], bool] | None = None, look_s: float = 0.05
    ) -> None:
        """`look` is called after each piece of work, and every `look_s` while it returns true."""
        self._name = name
        self._look = look
        self._look_s = look_s
        # Nothing stands for a wish to look, and `False` for the end.
        self._jobs: SimpleQueue[_Job | Literal[False] | None] = SimpleQueue()
        self._thread: Thread | None = None

    async def run(self, work: Callable[[], T], /) -> T:
        """What `work` returns or raises. Work that is cancelled before its turn is not done."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(_Job(work, done))
        return await done

    def wake(self) -> None:
        """Have `look` called soon."""
        self._put(None)

    async def aclose(self, last: Callable[[], object]) -> None:
        """Do what was handed in, and `last`; then end the thread. The disk cannot delay it long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.run(last), _GOODBYE_S)
        self._jobs.put(False)
        self._thread = None

    def _put(self, job: _Job | None) -> None:
        self._jobs.put(job)
        if self._thread is None:
            # A daemon: a disk that never answers must not keep the program alive.
            self._thread = Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        looks = False
        while True:
            try:
                job = self._jobs.get(timeout=self._look_s if looks else None)
            except Empty:
                job = None
            if job is False:
                return
            if job is not None and not job.done.cancelled():
                _do(job)
            looks = self._look is not None and self._look()


def _do(job: _Job) -> None:
    try:
        value = job.work()
    except Exception as error:  # noqa: BLE001 - it is raised where the work was asked for
        tell, what = _fail, error
    else:
        tell, what = _succeed, value
    # The loop may have ended, and with it everybody who would listen.
    with contextlib.suppress(RuntimeError):
        job.done.get_loop().call_soon_threadsafe(tell, job.done, what)


def _succeed(done: asyncio.Future[Any], value: Any) -> None:
    if not done.done():
        done.set_result(value)


def _fail(done: asyncio.Future[Any], error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
