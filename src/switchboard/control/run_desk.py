"""What commands ask about runs, answered from wherever the runs are."""

import asyncio
import contextlib
import time

from msgspec import Struct

from switchboard.control.requests import (
    RunCancelRequest,
    RunEventsRequest,
    RunQuestion,
    RunsRequest,
    RunSteerRequest,
)
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run, RunEvent

# A run of another process tells nobody that it goes on.
_LOOK_S = 0.5
# What fits well into one answer.
_MOST_EVENTS = 500


class RunList(Struct, frozen=True, kw_only=True):
    """The latest runs, newest first."""

    runs: tuple[Run, ...] = ()


class RunAnswer(Struct, frozen=True, kw_only=True):
    """A run as it is now, with lines of its transcript."""

    run: Run
    events: tuple[RunEvent, ...] = ()
    # Whether there are more lines than these already.
    has_more: bool = False
    # Whether there was nothing left to cancel.
    had_ended: bool = False


async def run_answer(runs: Runs, request: RunQuestion) -> RunList | RunAnswer:
    """The answer to a request about runs. Raises a fault."""
    match request:
        case RunsRequest():
            found = await runs.listed(workspace=request.workspace, last=request.last)
            return RunList(runs=tuple(found))
        case RunEventsRequest():
            return await _events(runs, request)
        case RunCancelRequest():
            before = await runs.get(request.id)
            return RunAnswer(run=await runs.cancel(request.id), had_ended=before.has_ended)
        case RunSteerRequest():
            return RunAnswer(run=await runs.steer(request.id, request.text))


async def _events(runs: Runs, request: RunEventsRequest) -> RunAnswer:
    news = asyncio.Event()
    forget = runs.follow(request.id, lambda _run: news.set())
    until = time.monotonic() + request.wait_s
    try:
        while True:
            # First the run: its last lines are there before its end is.
            run = await runs.get(request.id)
            lines = await runs.transcript(request.id, after=request.after)
            left = until - time.monotonic()
            if lines or run.has_ended or left <= 0:
                some = tuple(lines[:_MOST_EVENTS])
                return RunAnswer(run=run, events=some, has_more=len(lines) > len(some))
            news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, _LOOK_S)):
                    await news.wait()
    finally:
        forget()
