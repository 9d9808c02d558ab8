"""Turns in this process, and a note of every attempt in DBOS, which is loaded with the first run.

The first run does not wait for that: it is in the store already, and an engine takes as long to
start as DBOS does. DBOS has a thread and a loop of its own, so that nothing of it blocks ours.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING
from uuid import uuid4

from switchboard.core.loop.tasks import TaskSet
from switchboard.runs.local_engine import LocalEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from switchboard.core.stores import Owners
    from switchboard.runs.dbos_engine import DbosEngine
    from switchboard.runs.limits import RunLimits
    from switchboard.runs.ports import Execute
    from switchboard.runs.run import Run

# DBOS waits for its own threads, which look about once a second.
_CLOSE_S = 5.0


class DurableEngine:
    """The `RunEngine` of a home."""

    def __init__(
        self,
        home: str,
        execute: Execute,
        limits: RunLimits,
        *,
        owners: Owners,
        tell: Callable[[str], None],
        database: str = "",
    ) -> None:
        """`tell` hears what DBOS complains about, on any thread.

        With the URL of a `database` of a team nothing is written in the home.
        """
        self._home = home
        self._database = database
        self._owners = owners
        self._tell = tell
        self._local = LocalEngine(execute, limits)
        self._notes = TaskSet()
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closing = False
        # DBOS once it is launched, nothing if it cannot be. No exception: whoever has stopped
        # waiting would leave it to nobody, and Python would print it.
        self._launched: Future[DbosEngine | None] = Future()

    async def submit(self, run: Run, /) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._serve, name="runs-engine", daemon=True)
            self._thread.start()
        await self._local.submit(run)
        self._notes.start(self._note(run))

    async def cancel(self, run_id: str, /) -> None:
        await self._local.cancel(run_id)

    def has_room(self, run: Run) -> bool:
        """Whether a run would work at once."""
        return self._local.has_room(run)

    async def forget_gone(self) -> None:
        """Take away what processes left in DBOS that are gone, if it is there."""
        engine = self._launched.result() if self._launched.done() else None
        if engine is not None and self._loop is not None:
            forgetting = engine.forget(self._owners.is_gone)
            # Nothing depends on it.
            with contextlib.suppress(Exception):
                asyncio.run_coroutine_threadsafe(forgetting, self._loop)

    async def loaded(self) -> None:
        """Wait until DBOS is there, or cannot be."""
        await self._dbos()

    async def _dbos(self) -> DbosEngine | None:
        # Whoever stops waiting must not stop it for the others.
        return await asyncio.shield(asyncio.wrap_future(self._launched))

    async def aclose(self) -> None:
        self._is_closing = True
        await self._local.aclose()
        await self._notes.aclose()
        if self._thread is not None:
            # A disk that does not answer must not keep us: nothing of this is needed later.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await self.loaded()
            if self._loop is not None:
                # Closed already where DBOS could not be had.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join, _CLOSE_S)
            self._thread = None

    async def _note(self, run: Run) -> None:
        """Have the attempt stand in the file of DBOS for as long as it waits or works."""
        key = f"{run.id}.{run.attempts + 1}"
        ours = asyncio.get_running_loop()

        async def body() -> None:
            ended = asyncio.run_coroutine_threadsafe(self._local.ended(run.id), ours)
            await asyncio.wrap_future(ended)

        # What cannot be noted is executed all the same: the store has it, and decides.
        with contextlib.suppress(Exception):
            engine = await self._dbos()
            if engine is None:
                return
            assert self._loop is not None
            noted = asyncio.run_coroutine_threadsafe(engine.begin(key, body), self._loop)
            await asyncio.wrap_future(noted)

    # On the thread of DBOS

    def _serve(self) -> None:
        loop = self._loop = asyncio.new_event_loop()
        engine = None
        try:
            engine = loop.run_until_complete(self._launch())
        except BaseException as error:  # noqa: BLE001 - runs go on without it
            if not self._is_closing:
                self._tell(f"runs are kept without DBOS: {type(error).__name__}: {error}")
        self._launched.set_result(engine)
        if engine is not None:
            loop.run_forever()
        # What is under way first: without its DBOS it would fail, and complain.
        loop.run_until_complete(_cancel_rest())
        if engine is not None:
            engine.close()
        loop.close()

    async def _launch(self) -> DbosEngine:
        # Half a second, and 50 MB: who runs no agent does without.
        from switchboard.runs.dbos_engine import DbosEngine  # noqa: PLC0415

        executor = self._owners.own() or uuid4().hex
        engine = DbosEngine(self._home, executor=executor, tell=self._tell, database=self._database)
        engine.launch()
        try:
            await engine.forget(self._owners.is_gone)
        except BaseException:
            engine.close()
            raise
        return engine


async def _cancel_rest() -> None:
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
