"""What a run does, told to a person who waits for it: each thing once, when it is done."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager

from switchboard.core.calls.call_steps import CallStep
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.runs.event_words import event_words, one_line
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run

# Not every line of a transcript changes the run, and only changes are told.
_LOOK_S = 0.5
# Whoever is asked reads the whole question.
_TOLD_ELSEWHERE = "permission"

IN_LINE = "waits for its turn: another run works in this workspace, or as many as may work at once"

TellStep = Callable[[CallStep], None]


@asynccontextmanager
async def watched(runs: Runs, run: Run, tell: TellStep | None) -> AsyncGenerator[None]:
    """Tell what the run does as long as the block lasts, and all of it if that ends well."""
    if tell is None or run.has_ended:
        yield
        return
    watch = _RunWatch(runs, run, tell)
    async with TaskSet() as tasks:
        tasks.start(watch.go_on())
        yield
    await watch.look()


class _RunWatch:
    def __init__(self, runs: Runs, run: Run, tell: TellStep) -> None:
        self._runs = runs
        self._run_id = run.id
        self._engine = run.spec.engine
        self._tell = tell
        self._has_begun = run.state != "queued"
        self._waits_for = ""
        self._after = 0
        # A message that may be the last one, which is the answer.
        self._held = ""
        self._step(f"run {run.id} of {one_line(run.spec.agent)} on {run.spec.engine}")

    async def go_on(self) -> None:
        news = asyncio.Event()
        forget = self._runs.follow(self._run_id, lambda _run: news.set())
        try:
            while True:
                news.clear()
                await self.look()
                try:
                    async with asyncio.timeout(_LOOK_S):
                        await news.wait()
                except TimeoutError:
                    await self._look_at_line()
        finally:
            forget()

    async def look(self) -> None:
        """Tell what is new."""
        # A transcript that cannot be read now is no reason to wait no more for the run.
        with contextlib.suppress(Fault):
            for event in await self._runs.transcript(self._run_id, after=self._after):
                self._after = event.number
                self._show(event.data)

    async def _look_at_line(self) -> None:
        """Tell what the run waits for that has not begun."""
        with contextlib.suppress(Fault):
            if self._has_begun or (run := await self._runs.get(self._run_id)).state != "queued":
                return
            waits_for = in_line_behind(run, await self._runs.unfinished())
            if waits_for != self._waits_for:
                self._waits_for = waits_for
                self._step(waits_for, is_passing=True)

    def _show(self, data: str) -> None:
        words = event_words(data)
        if words.kind == "state" and words.text == "working" and not self._has_begun:
            self._has_begun = True
            self._step(f"starts {self._engine}", is_passing=True)
        if not words.text or words.kind == "state":
            return
        if self._held:
            self._step(self._held)
            self._held = ""
        if words.kind == "message":
            self._held = one_line(words.text)
        elif words.kind != _TOLD_ELSEWHERE:
            self._step(words.text, is_passing=words.is_begun, ending=words.ending)

    def _step(self, text: str, *, is_passing: bool = False, ending: str = "") -> None:
        self._tell(CallStep(run_id=self._run_id, text=text, is_passing=is_passing, ending=ending))


def in_line_behind(run: Run, unfinished: Iterable[Run]) -> str:
    """That a run waits for its turn, and which run keeps it waiting."""
    working = [each for each in unfinished if each.state != "queued" and each.id != run.id]
    for each in working:
        # Those above it wait for it, not it for them.
        is_in_the_way = each.spec.may_write and each.spec.depth >= run.spec.depth
        if run.spec.may_write and is_in_the_way and each.spec.workspace == run.spec.workspace:
            name = one_line(each.spec.agent)
            return f"waits for its turn: run {each.id} of {name} works in this workspace"
    if not working:
        return "waits for its turn"
    ids = ", ".join(each.id for each in working)
    return f"waits for its turn: as many runs work as may at once ({ids})"
