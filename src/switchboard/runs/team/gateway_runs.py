"""Runs as a gateway of a team has them: it takes them in, and workers execute them."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from typing import Any

from switchboard.core.events import RunStarted
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Events
from switchboard.postgres.notices import Notices
from switchboard.runs.endings import Ending, crashed, ended_event, halted, must_end
from switchboard.runs.followers import Followers, Tell, until_ended
from switchboard.runs.ports import Worker
from switchboard.runs.refusals import not_working, stopping
from switchboard.runs.run import Run, RunEvent, RunSpec, new_run_id
from switchboard.runs.store.run_table import unknown_run
from switchboard.runs.team.queue_table import CHANGED
from switchboard.runs.team.team_store import TeamRunStore
from switchboard.runs.transcripts import state_line

# The database tells of changes; whoever waits looks so often all the same.
_LOOK_S = 2.0
# How often it looks for runs whose worker is gone, where somebody asks.
_SETTLE_S = 1.0
_CANCEL_S = 10.0


class GatewayRuns:
    """The `Runs` of a team. None of them is executed here."""

    def __init__(self, store: TeamRunStore, *, events: Events) -> None:
        self.store = store
        self._events = events
        self._followers = Followers()
        self._tasks = TaskSet()
        self._notices: Notices | None = None
        self._listening: asyncio.Task[None] | None = None
        self._changed: set[str] = set()
        self._telling: asyncio.Task[None] | None = None
        self._settled_at = -_SETTLE_S
        self._is_closed = False

    async def start(self, spec: RunSpec, /) -> Run:
        if self._is_closed:
            raise stopping()
        run = Run(id=new_run_id(), spec=spec, state="queued", created_at=time.time())
        return await asyncio.shield(self._tasks.start(self._start(run)))

    async def _start(self, run: Run) -> Run:
        kept = await self.store.add(run)
        if kept.id == run.id:
            spec = run.spec
            self._events.emit(
                RunStarted(
                    run_id=run.id, agent=spec.agent, engine=spec.engine, workspace=spec.workspace
                )
            )
        return kept

    async def get(self, run_id: str, /) -> Run:
        await self.settle()
        run = await self.store.get(run_id)
        if run is None:
            raise unknown_run(run_id)
        return run

    async def wait(self, run_id: str, /, *, within_s: float, tell: Tell | None = None) -> Run:
        last: Run | None = None

        async def look(run_id: str) -> Run:
            """The run as it is now; as it was while the database is away."""
            nonlocal last
            try:
                last = await self.get(run_id)
            except Fault:
                if last is None:
                    raise
            return last

        return await until_ended(
            run_id,
            follow=self.follow,
            look=look,
            look_s=lambda: _LOOK_S,
            within_s=within_s,
            tell=tell,
        )

    async def listed(self, *, workspace: str = "", last: int = 50) -> list[Run]:
        await self.settle()
        return await self.store.listed(workspace=workspace, last=last)

    async def unfinished(self, *, workspace: str = "") -> list[Run]:
        await self.settle()
        return await self.store.unfinished(workspace=workspace)

    async def last_of_thread(self, workspace: str, thread_id: str, /) -> Run | None:
        return await self.store.last_of_thread(workspace, thread_id)

    async def conversations(self) -> set[str]:
        return await self.store.conversations()

    async def transcript(self, run_id: str, /, *, after: int = 0) -> list[RunEvent]:
        if await self.store.get(run_id) is None:
            raise unknown_run(run_id)
        return await self.store.transcript(run_id, after=after)

    async def cancel(self, run_id: str, /) -> Run:
        run = await self.get(run_id)
        if run.has_ended:
            return run
        return await asyncio.shield(self._tasks.start(self._cancel(run)))

    async def _cancel(self, run: Run) -> Run:
        ended = await self._ended(run, halted("cancelled", run), self.store.end_waiting)
        if ended is not None:
            return ended
        # The worker that has it looks for such wishes.
        await self.store.want_end(run.id)
        return await self.wait(run.id, within_s=_CANCEL_S)

    async def steer(self, run_id: str, text: str, /) -> Run:
        run = await self.get(run_id)
        if run.state not in {"working", "asking"}:
            raise not_working(run)
        await self.store.put_in(run_id, text)
        return run

    async def delivered(self, run_id: str, /) -> None:
        await asyncio.shield(self._tasks.start(self.store.update(run_id, is_delivered=True)))

    async def left(self, owner: str, /) -> None:
        await asyncio.shield(self._tasks.start(self.store.left(owner)))

    def follow(self, run_id: str, tell: Tell, /) -> Callable[[], None]:
        if self._listening is None and not self._is_closed:
            self._listening = self._tasks.start(self._listen())
        return self._followers.add(run_id, tell)

    def attach(self, worker: Worker, /) -> Callable[[], None]:
        """Nobody works here."""
        del worker
        return lambda: None

    # Whoever owns it

    def under_way(self, workspace: str = "") -> list[Run]:
        """Nothing is executed here."""
        del workspace
        return []

    def of_process(self, chain: Iterable[int]) -> Run | None:
        """Nothing is executed here."""
        del chain
        return None

    async def settle(self) -> None:
        """End what a worker left that is gone, and that nobody takes up."""
        if time.monotonic() - self._settled_at < _SETTLE_S:
            return
        self._settled_at = time.monotonic()
        with contextlib.suppress(Fault):
            for run in await self.store.abandoned():
                if must_end(run):
                    await self._ended(run, crashed(run), self.store.adopt)

    async def aclose(self) -> None:
        self._is_closed = True
        try:
            await self._tasks.aclose()
        finally:
            if self._notices is not None:
                self._notices.close()
            await self.store.aclose()

    async def _ended(self, run: Run, ending: Ending, end: Callable[..., Any]) -> Run | None:
        """End a run that nobody executes. Nothing where somebody does by now."""
        ended: Run | None = await end(
            run.id,
            state=ending.state,
            output=ending.output,
            reason=ending.reason,
            ended_at=time.time(),
            doing="",
            approval_id="",
        )
        if ended is not None:
            with contextlib.suppress(Fault):
                await self.store.append(run.id, state_line(ended.state, ended.reason))
            self._events.emit(ended_event(ended, ending.private))
        return ended

    # Being told

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()

        def hear(run_id: str) -> None:
            # It comes from a thread, maybe when everything here has ended.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._heard, run_id)

        try:
            self._notices = await asyncio.to_thread(self.store.listen, CHANGED, hear)
        except Fault:
            # The next who follows tries again; until then everybody looks.
            self._listening = None

    def _heard(self, run_id: str) -> None:
        followed = self._followers.followed()
        if not run_id:
            # Something may have been missed.
            self._changed |= followed - {""}
        elif run_id in followed or "" in followed:
            self._changed.add(run_id)
        if self._changed and (self._telling is None or self._telling.done()):
            self._telling = self._tasks.start(self._tell())

    async def _tell(self) -> None:
        while self._changed:
            run_id = self._changed.pop()
            with contextlib.suppress(Fault):
                if (run := await self.store.get(run_id)) is not None:
                    self._followers.tell(run)
