"""What a person reads of a run while it waits for its turn, and once that has come."""

from msgspec.structs import replace

from fakes.runs import MemoryRuns
from runs.ground import a_run
from support.processes import until_true
from switchboard.core.calls.call_steps import CallStep
from switchboard.providers.agents.calls.run_watch import in_line_behind, watched
from switchboard.runs.run import Run, RunEvent
from switchboard.runs.transcripts import state_line


async def test_a_run_waits_for_another_one_until_it_works() -> None:
    runs = MemoryRuns()
    first, second = a_run(state="working"), a_run()
    for run in (first, second):
        runs.runs[run.id], runs.events[run.id] = run, []
    steps: list[CallStep] = []
    async with watched(runs, second, steps.append):
        waits = f"waits for its turn: run {first.id} of tidy works in this workspace"
        await until_true(lambda: steps[-1].text == waits)
        assert steps[-1].is_passing
        _begin(runs, second)
        await until_true(lambda: steps[-1].text == "starts codex")
        # It goes on after a question.
        _begin(runs, second)
    assert [step.text for step in steps[1:]] == [waits, "starts codex"]


def test_what_keeps_a_run_waiting_is_named() -> None:
    run = a_run(depth=1)
    above, elsewhere = a_run(state="working"), a_run(state="asking", workspace="/v", depth=1)
    reader, queued = a_run(state="working", may_write=False, depth=1), a_run(depth=1)
    assert in_line_behind(run, [run, queued]) == "waits for its turn"
    said = in_line_behind(run, [above, elsewhere, reader, run, queued])
    assert said == (
        "waits for its turn: as many runs work as may at once"
        f" ({above.id}, {elsewhere.id}, {reader.id})"
    )
    writer = a_run(state="asking", depth=1)
    assert writer.id in in_line_behind(run, [above, elsewhere, reader, writer])


def _begin(runs: MemoryRuns, run: Run) -> None:
    runs.runs[run.id] = replace(run, state="working")
    lines = runs.events[run.id]
    data = state_line("working", attempt=1)
    lines.append(RunEvent(run_id=run.id, number=len(lines) + 1, at=1.0, data=data))
