"""That a client has the answer of a run: only then is the same request a new one."""

import contextlib
from collections.abc import Callable

from msgspec.structs import replace

from switchboard.core.calls.call import Outcome
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run


def with_receipt(outcome: Outcome, run: Run, runs: Callable[[], Runs], tasks: TaskSet) -> Outcome:
    """The answer of a run that has ended; that the client has it is noted when it has."""

    async def note() -> None:
        # Nobody is there to be told that this failed. A repeat then gets the same answer.
        with contextlib.suppress(Fault):
            await runs().delivered(run.id)

    def deliver() -> None:
        tasks.start(note())

    return outcome if run.is_delivered else replace(outcome, on_delivered=deliver)
