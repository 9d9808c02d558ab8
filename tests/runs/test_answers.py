"""When an answer is told: before its engine has ended, but nothing else begins before that."""

import asyncio

from runs.conftest import Machine
from runs.ground import PATIENCE, ScriptedWork, ScriptedWorker, a_spec
from switchboard.core.events import RunEnded
from switchboard.engines.events import TurnEnded, TurnFailure
from switchboard.runs.ports import Asking
from switchboard.runs.run import Run, RunSpec
from switchboard.runs.service import RunService


class SlowWork(ScriptedWork):
    """Work whose engine takes as long to end as a test wants."""

    def __init__(self, run: Run, asking: Asking, may_end: asyncio.Event) -> None:
        super().__init__(run, asking)
        self.ends = asyncio.Event()
        self._may_end = may_end

    async def aclose(self) -> None:
        self.ends.set()
        await self._may_end.wait()
        await super().aclose()


class SlowWorker(ScriptedWorker):
    def __init__(self) -> None:
        super().__init__()
        self.may_end = asyncio.Event()

    def work(self, run: Run, asking: Asking, /) -> SlowWork:
        work = SlowWork(run, asking, self.may_end)
        self.works.append(work)
        self.begun.put_nowait(work)
        return work


async def answered(runs: RunService, worker: SlowWorker, spec: RunSpec) -> tuple[Run, SlowWork]:
    """A run that has its answer, and whose engine does not end."""
    run = await runs.start(spec)
    work = await worker.next()
    assert isinstance(work, SlowWork)
    work.finish("all tidy")
    run = await runs.wait(run.id, within_s=PATIENCE)
    assert (run.state, run.output) == ("completed", "all tidy")
    async with asyncio.timeout(PATIENCE):
        await work.ends.wait()
    assert not work.is_closed
    return run, work


async def test_an_answer_is_told_while_its_engine_ends_and_the_next_writer_waits_for_that(
    runs: RunService,
) -> None:
    worker = SlowWorker()
    runs.attach(worker)
    _, first = await answered(runs, worker, a_spec())
    second = await runs.start(a_spec())
    reader = await runs.start(a_spec(may_write=False))
    assert (await worker.next()).run.id == reader.id
    assert (await runs.get(second.id)).state == "queued"
    worker.may_end.set()
    begun = await worker.next()
    assert begun.run.id == second.id
    assert first.is_closed
    begun.finish()


async def test_a_reply_waits_for_the_engine_that_it_goes_on_with(runs: RunService) -> None:
    worker = SlowWorker()
    runs.attach(worker)
    run, first = await answered(runs, worker, a_spec(may_write=False))
    reply = await runs.start(a_spec(may_write=False, replies_to=run.id))
    other = await runs.start(a_spec(may_write=False))
    assert (await worker.next()).run.id == other.id
    worker.may_end.set()
    begun = await worker.next()
    assert begun.run.id == reply.id
    assert first.is_closed
    begun.finish()


async def test_whoever_hears_that_a_run_failed_finds_nothing_of_it_at_work(
    runs: RunService,
) -> None:
    worker = SlowWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    work = await worker.next()
    assert isinstance(work, SlowWork)
    work.say(TurnEnded(status="failed", failure=TurnFailure(kind="not-logged-in")))
    async with asyncio.timeout(PATIENCE):
        await work.ends.wait()
    assert (await runs.get(run.id)).state == "working"
    worker.may_end.set()
    assert (await runs.wait(run.id, within_s=PATIENCE)).state == "failed"
    assert work.is_closed


async def test_an_answer_stays_what_it_is_when_all_is_closed_and_its_engine_is_waited_for(
    machine: Machine,
) -> None:
    runs = machine.process()
    worker = SlowWorker()
    runs.attach(worker)
    run, work = await answered(runs, worker, a_spec())
    assert (await runs.cancel(run.id)).state == "completed"
    closing = asyncio.ensure_future(runs.aclose())
    await asyncio.sleep(0.05)
    assert not closing.done()
    worker.may_end.set()
    await closing
    assert work.is_closed
    assert [event.state for event in machine.events.of(RunEnded)] == ["completed"]
    again = machine.process()
    assert (await again.get(run.id)).state == "completed"
