"""Conversations of several runs: the one that began it, and those that went on with it."""

from msgspec.structs import replace

from switchboard.core.faults import Fault, FaultCode
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run, RunSpec


async def begun_with(runs: Runs, run: Run) -> str:
    """The id of the run that the conversation of a run began with. Runs may be forgotten by now."""
    while not run.spec.conversation and (before := run.spec.replies_to):
        # A reply of an earlier version names only the run before it.
        try:
            run = await runs.get(before)
        except Fault as fault:
            if fault.code is FaultCode.NOT_FOUND:
                return before
            raise
    return run.spec.conversation or run.id


async def going_on_with(runs: Runs, run: Run, task: str) -> RunSpec:
    """What the next run of the conversation is to do."""
    return replace(
        run.spec,
        task=task,
        replies_to=run.id,
        conversation=await begun_with(runs, run),
        resumes=run.thread_id or run.spec.resumes,
    )
