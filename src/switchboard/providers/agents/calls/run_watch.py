"""What a run does, told to a person who waits for it: each thing once, when it is done."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from switchboard.core.call_steps import CallStep
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
        self._tell = tell
        self._after = 0
        # A message that may be the last one, which is the answer.
        self._held = ""
        self._step(f"run {run.id} of {one_line(run.spec.agent)} on {run.spec.engine}")
        if run.state == "queued":
            self._step(IN_LINE, is_passing=True)

    async def go_on(self) -> None:
        news = asyncio.Event()
        forget = self._runs.follow(self._run_id, lambda _run: news.set())
        try:
            while True:
                news.clear()
                await self.look()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_S):
                        await news.wait()
        finally:
            forget()

    async def look(self) -> None:
        """Tell what is new."""
        # A transcript that cannot be read now is no reason to wait no more for the run.
        with contextlib.suppress(Fault):
            for event in await self._runs.transcript(self._run_id, after=self._after):
                self._after = event.number
                self._show(event.data)

    def _show(self, data: str) -> None:
        words = event_words(data)
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
