"""The runs of a home as those see them who start, watch and end runs."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing

import msgspec
import pytest

from runs.conftest import Machine
from runs.ground import OPENED, PATIENCE, ScriptedWork, ScriptedWorker, a_spec
from support.requirements import requirement
from switchboard.core.events import RunChanged, RunEnded, RunStarted
from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.events import CommandItem, TextDelta, TokenUsage, TurnEnded, TurnFailure
from switchboard.runs.endings import MOST_OUTPUT
from switchboard.runs.limits import RunLimits
from switchboard.runs.run import Run
from switchboard.runs.service import RunService


async def ended(runs: RunService, run_id: str) -> Run:
    run = await runs.wait(run_id, within_s=PATIENCE)
    assert run.has_ended
    return run


async def until(runs: RunService, run_id: str, has: Callable[[Run], object]) -> Run:
    """The run once it is as wanted."""
    news: asyncio.Queue[Run] = asyncio.Queue()
    forget = runs.follow(run_id, news.put_nowait)
    run = await runs.get(run_id)
    async with asyncio.timeout(PATIENCE):
        while not has(run):
            run = await news.get()
    forget()
    return run


async def test_a_run_works_and_its_answer_is_kept(runs: RunService, machine: Machine) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    work = await worker.next()
    work.say(OPENED)
    work.say(CommandItem(id="1", status="started", command="ls -l"))
    work.say(TokenUsage(input_tokens=7, output_tokens=2))
    work.say(TextDelta(text="al"))
    work.finish("all tidy")
    run = await ended(runs, run.id)
    assert (run.state, run.output, run.attempts) == ("completed", "all tidy", 1)
    assert (run.thread_id, run.model) == ("t-1", "m-1")
    assert run.usage == TokenUsage(input_tokens=7, output_tokens=2)
    lines = [msgspec.json.decode(line.data) for line in await runs.transcript(run.id)]
    kinds = [line["event"] for line in lines]
    assert kinds == ["state", "opened", "command", "usage", "turn-ended", "state"]
    assert work.is_closed
    assert len(machine.events.of(RunStarted)) == 1
    assert [event.state for event in machine.events.of(RunChanged)] == ["working"]
    assert [event.state for event in machine.events.of(RunEnded)] == ["completed"]


async def test_whoever_waits_is_told_what_is_done_meanwhile(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    seen: list[str] = []
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(
            runs.wait(run.id, within_s=PATIENCE, tell=lambda run: seen.append(run.doing))
        )
        work = await worker.next()
        work.say(CommandItem(id="1", status="started", command="make\ntest"))
        work.finish()
    assert waiting.result().state == "completed"
    assert "runs make test" in seen


async def test_waiting_ends_when_the_time_is_up_and_the_run_goes_on(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    work = await worker.next()
    assert (await runs.wait(run.id, within_s=0.05)).state == "working"
    work.finish()
    assert (await ended(runs, run.id)).state == "completed"


async def test_a_request_that_is_sent_again_is_the_same_run_until_it_was_delivered(
    runs: RunService,
) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    first = await runs.start(a_spec(request_key="k"))
    assert (await runs.start(a_spec(request_key="k"))).id == first.id
    (await worker.next()).finish()
    await ended(runs, first.id)
    again = await runs.start(a_spec(request_key="k"))
    assert (again.id, again.output) == (first.id, "done")
    await runs.delivered(first.id)
    assert (await runs.start(a_spec(request_key="k"))).id != first.id
    assert len(worker.works) <= 2


async def test_requests_without_a_key_are_runs_of_their_own(runs: RunService) -> None:
    first, second = await runs.start(a_spec()), await runs.start(a_spec())
    assert first.id != second.id


async def test_two_runs_that_may_write_in_one_workspace_wait_for_each_other(
    runs: RunService,
) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    first, second = await runs.start(a_spec()), await runs.start(a_spec())
    reader = await runs.start(a_spec(may_write=False))
    works = [await worker.next(), await worker.next()]
    assert {work.run.id for work in works} == {first.id, reader.id}
    assert (await runs.get(second.id)).state == "queued"
    for work in works:
        work.finish()
    (await worker.next()).finish()
    assert (await ended(runs, second.id)).state == "completed"


async def test_a_run_does_not_wait_for_the_one_that_waits_for_it(machine: Machine) -> None:
    runs = machine.process(RunLimits(max_runs=1))
    worker = ScriptedWorker()
    runs.attach(worker)
    await runs.start(a_spec(task="above"))
    above = await worker.next()
    await runs.start(a_spec(task="below", depth=1))
    below = await worker.next()
    beside = await runs.start(a_spec(task="beside", depth=1))
    assert [above.run.spec.task, below.run.spec.task] == ["above", "below"]
    assert (await runs.get(beside.id)).state == "queued"
    below.finish()
    (await worker.next()).finish()
    assert (await ended(runs, beside.id)).state == "completed"


async def test_a_row_that_nobody_can_read_keeps_nobody_from_the_others(
    machine: Machine,
) -> None:
    runs = machine.process()
    run = await runs.start(a_spec(workspace="/other"))
    with closing(sqlite3.connect(f"{machine.home}/state/runs.db")) as file, file:
        file.execute(
            "INSERT INTO runs (id, workspace, request_key, may_write, state, is_delivered,"
            " created_at, ended_at, owner, run) VALUES"
            " ('r-odd', '/w', '', 1, 'working', 0, 0, 0, 'elsewhere', x'7b7d')"
        )
    assert [each.id for each in await runs.listed()] == [run.id]
    assert "r-odd" not in [each.id for each in await runs.store.unfinished()]
    with pytest.raises(Fault):
        await runs.get("r-odd")


async def test_writers_of_two_processes_wait_for_each_other(machine: Machine) -> None:
    one, other = machine.process(), machine.process()
    mine, theirs = ScriptedWorker(), ScriptedWorker()
    one.attach(mine)
    other.attach(theirs)
    first = await one.start(a_spec())
    work = await mine.next()
    second = await other.start(a_spec())
    assert (await other.wait(second.id, within_s=0.7)).state == "queued"
    work.finish()
    await ended(one, first.id)
    (await theirs.next()).finish()
    assert (await ended(other, second.id)).state == "completed"


async def test_the_time_of_work_is_limited_and_the_run_says_so(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await ended(runs, (await runs.start(a_spec(limit_s=0.05))).id)
    assert (run.state, run.reason) == ("failed", "time-limit")
    assert "0.05 s of work" in run.output
    assert worker.works[0].was_cancelled
    assert worker.works[0].is_closed


async def test_time_stands_still_while_a_person_is_asked(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec(limit_s=0.3))
    work = await worker.next()
    with work.asking("a-1"):
        assert (await until(runs, run.id, lambda run: run.state == "asking")).approval_id == "a-1"
        # Longer than it may work.
        assert not (await runs.wait(run.id, within_s=0.6)).has_ended
    assert (await until(runs, run.id, lambda run: run.state == "working")).approval_id == ""
    work.finish()
    assert (await ended(runs, run.id)).state == "completed"


async def test_a_cancelled_run_is_ended_with_what_it_started(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    work = await worker.next()
    assert (await runs.cancel(run.id)).state == "cancelled"
    assert work.was_cancelled
    assert work.is_closed
    assert (await runs.cancel(run.id)).state == "cancelled"


async def test_an_engine_that_does_not_hear_is_ended_all_the_same(
    runs: RunService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.runs.attempt._GRACE_S", 0.1)
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    work = await worker.next()
    work.is_stubborn = True
    assert (await runs.cancel(run.id)).state == "cancelled"
    assert work.is_closed


async def test_a_run_that_is_cancelled_before_its_turn_never_starts(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    first, second = await runs.start(a_spec()), await runs.start(a_spec())
    work = await worker.next()
    assert (await runs.cancel(second.id)).state == "cancelled"
    work.finish()
    await ended(runs, first.id)
    assert len(worker.works) == 1


async def test_a_run_of_another_process_is_cancelled_there(machine: Machine) -> None:
    one, other = machine.process(), machine.process()
    worker = ScriptedWorker()
    one.attach(worker)
    run = await one.start(a_spec())
    work = await worker.next()
    assert (await other.cancel(run.id)).state == "cancelled"
    assert work.was_cancelled


async def test_more_input_reaches_a_run_that_works_and_no_other(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    work = await worker.next()
    await runs.steer(run.id, "and the docs")
    assert work.steered == ["and the docs"]
    work.finish()
    await ended(runs, run.id)
    with pytest.raises(Fault) as refusal:
        await runs.steer(run.id, "more")
    assert refusal.value.reason == "run-not-working"


async def test_a_failure_of_the_engine_is_told_in_our_words(
    runs: RunService, machine: Machine
) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    failure = TurnFailure(kind="quota-exceeded", private="HTTP 429 org-secret")
    (await worker.next()).say(TurnEnded(status="failed", failure=failure))
    run = await ended(runs, run.id)
    assert (run.state, run.reason) == ("failed", "quota-exceeded")
    told = run.output + "".join(line.data for line in await runs.transcript(run.id))
    assert "org-secret" not in told
    assert machine.events.of(RunEnded)[0].private == "HTTP 429 org-secret"


async def test_an_empty_answer_is_a_failure(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    (await worker.next()).finish("  \n")
    assert (await ended(runs, run.id)).reason == "empty-answer"


async def test_an_endless_answer_is_cut_and_says_so(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    (await worker.next()).finish("x" * (MOST_OUTPUT + 5))
    assert "\n[cut: 5 more characters are not kept" in (await ended(runs, run.id)).output


async def test_a_run_without_a_worker_for_it_fails_with_a_sentence(runs: RunService) -> None:
    runs.attach(ScriptedWorker(fingerprint="another"))
    run = await ended(runs, (await runs.start(a_spec())).id)
    assert (run.state, run.reason) == ("failed", "agent-changed")


async def test_an_unknown_run_is_not_found(runs: RunService) -> None:
    with pytest.raises(Fault) as refusal:
        await runs.get("r-none")
    assert refusal.value.code is FaultCode.NOT_FOUND


async def test_a_clean_end_interrupts_runs_and_says_so(machine: Machine) -> None:
    runs = machine.process()
    worker = ScriptedWorker()
    runs.attach(worker)
    first, second = await runs.start(a_spec()), await runs.start(a_spec())
    work = await worker.next()
    await runs.aclose()
    assert work.is_closed
    later = machine.process()
    for run_id in (first.id, second.id):
        run = await later.get(run_id)
        assert (run.state, run.reason) == ("failed", "interrupted")
        assert "Switchboard was stopped" in run.output


async def test_limits_in_all_and_of_one_engine_hold(machine: Machine) -> None:
    runs = machine.process(RunLimits(max_runs=2, max_per_engine=1))
    worker = ScriptedWorker()
    runs.attach(worker)
    specs = [a_spec(may_write=False, engine=engine) for engine in ("codex", "codex", "claude")]
    started = [await runs.start(spec) for spec in [*specs, a_spec(may_write=False, engine="acp:x")]]
    works = [await worker.next(), await worker.next()]
    assert [work.run.id for work in works] == [started[0].id, started[2].id]
    works[0].finish()
    works[1].finish()
    for _ in range(2):
        (await worker.next()).finish()
    for run in started:
        assert (await ended(runs, run.id)).state == "completed"


async def test_a_limit_of_one_workspace_holds_up_no_other(machine: Machine) -> None:
    runs = machine.process(RunLimits(max_per_workspace=1))
    here, there = ScriptedWorker(), ScriptedWorker("/elsewhere")
    for worker in (here, there):
        runs.attach(worker)
    first, second = [await runs.start(a_spec(may_write=False)) for _ in range(2)]
    other = await runs.start(a_spec(may_write=False, workspace="/elsewhere"))
    work, beside = await here.next(), await there.next()
    assert (work.run.id, beside.run.id) == (first.id, other.id)
    assert (await runs.get(second.id)).state == "queued"
    work.finish()
    (await here.next()).finish()
    beside.finish()
    for run in (first, second, other):
        assert (await ended(runs, run.id)).state == "completed"


# After a crash


@requirement("S0.10")
async def test_a_run_whose_process_was_killed_fails_with_a_sentence(machine: Machine) -> None:
    killed = machine.process()
    worker = ScriptedWorker()
    killed.attach(worker)
    working, waiting = await killed.start(a_spec()), await killed.start(a_spec())
    await worker.next()
    await machine.kill(killed)
    runs = machine.process()
    assert {run.state for run in await runs.listed()} == {"failed"}
    for each in (working, waiting):
        run = await runs.get(each.id)
        assert run.reason == "interrupted"
        assert "interrupted" in run.output
    assert "before it began" in (await runs.get(waiting.id)).output


@pytest.mark.parametrize(("on_crash", "thread_id"), [("resume", "t-1"), ("retry", "")])
async def test_a_run_is_taken_up_by_the_worker_of_its_workspace(
    machine: Machine, on_crash: str, thread_id: str
) -> None:
    killed = machine.process()
    worker = ScriptedWorker()
    killed.attach(worker)
    run = await killed.start(a_spec(on_crash=on_crash))
    (await worker.next()).say(OPENED)
    await until(killed, run.id, lambda run: run.thread_id)
    await machine.kill(killed)
    runs = machine.process()
    elsewhere, other = ScriptedWorker(workspace="/v"), ScriptedWorker()
    runs.attach(elsewhere)
    assert not (await runs.get(run.id)).has_ended
    runs.attach(other)
    work = await other.next()
    assert (work.run.id, work.run.attempts, work.run.thread_id) == (run.id, 2, thread_id)
    work.finish()
    assert (await ended(runs, run.id)).state == "completed"
    assert elsewhere.works == []


async def test_of_two_processes_one_takes_a_run_up(machine: Machine) -> None:
    killed = machine.process()
    worker = ScriptedWorker()
    killed.attach(worker)
    run = await killed.start(a_spec(on_crash="retry"))
    await worker.next()
    await machine.kill(killed)
    heirs = [machine.process() for _ in range(4)]
    workers = [ScriptedWorker() for _ in heirs]
    begun: asyncio.Queue[ScriptedWork] = asyncio.Queue()
    for heir, each in zip(heirs, workers, strict=True):
        each.begun = begun
        heir.attach(each)
    async with asyncio.timeout(PATIENCE):
        (await begun.get()).finish()
    assert (await ended(heirs[0], run.id)).attempts == 2
    assert sum(len(each.works) for each in workers) == 1


async def test_a_run_is_not_taken_up_as_something_else(machine: Machine) -> None:
    killed = machine.process()
    worker = ScriptedWorker()
    killed.attach(worker)
    run = await killed.start(a_spec(on_crash="resume"))
    await worker.next()
    await machine.kill(killed)
    runs = machine.process()
    runs.attach(ScriptedWorker(fingerprint="f2"))
    run = await ended(runs, run.id)
    assert (run.state, run.reason) == ("failed", "interrupted")
    assert "has changed since" in run.output


async def test_a_run_that_kills_its_process_each_time_is_given_up(machine: Machine) -> None:
    runs = machine.process()
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec(on_crash="retry"))
    for _ in range(3):
        await worker.next()
        await machine.kill(runs)
        runs = machine.process()
        runs.attach(worker)
    run = await ended(runs, run.id)
    assert (run.state, run.attempts) == ("failed", 3)


async def test_fifty_runs_at_once_take_their_turns_and_all_end(machine: Machine) -> None:
    limits = RunLimits(parallel_writes=True)
    runs, worker = machine.process(limits), ScriptedWorker()
    runs.attach(worker)
    started = await asyncio.gather(*(runs.start(a_spec(task=f"task {n}")) for n in range(50)))
    for number in range(50):
        work = await worker.next()
        # As many work as may, and no more.
        assert len(worker.works) - number <= limits.max_runs
        work.finish(work.run.spec.task)
        ended = await runs.wait(work.run.id, within_s=PATIENCE)
        assert (ended.state, ended.output) == ("completed", work.run.spec.task)
    assert len({run.id for run in started}) == 50
    assert not runs.under_way()


async def test_the_run_that_a_process_came_of_is_found_by_its_engine(runs: RunService) -> None:
    worker = ScriptedWorker()
    runs.attach(worker)
    run = await runs.start(a_spec())
    work = await worker.next()
    assert runs.of_process([1234, 99]) is None
    work.pid = 99
    found = runs.of_process([1234, 99])
    assert found is not None
    assert found.id == run.id
    work.finish()
    await ended(runs, run.id)
    assert runs.of_process([1234, 99]) is None
