"""How runs end, in one sentence for whoever called: what happened, and what to do."""

from typing import Literal

from msgspec import Struct

from switchboard.core.events import RunEnded
from switchboard.core.faults import Fault
from switchboard.engines.events import TurnEnded, TurnFailure
from switchboard.engines.failures import sentence
from switchboard.runs.run import Run, RunState

# Why somebody ends a run from outside.
Halt = Literal["cancelled", "time-limit", "stopped"]

MOST_OUTPUT = 400_000
# So often a run is taken up: one that ends its process each time must not do so for ever.
MOST_ATTEMPTS = 3


class Ending(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    state: RunState
    output: str
    reason: str = ""
    # What only the log may know.
    private: str = ""


def turn_ending(turn: TurnEnded, run: Run) -> Ending:
    """The end of a run whose engine came to an end by itself."""
    if turn.status == "completed" and turn.text.strip():
        return Ending(state="completed", output=_bounded(turn.text))
    failure = turn.failure or TurnFailure(
        kind="empty-answer" if turn.status == "completed" else "engine-crashed"
    )
    return Ending(
        state="failed",
        output=sentence(failure, run.spec.engine),
        reason=failure.kind,
        private=failure.private,
    )


def halted(halt: Halt, run: Run) -> Ending:
    """The end of a run that somebody ended."""
    agent = run.spec.agent
    match halt:
        case "cancelled":
            return Ending(
                state="cancelled", output=f"the run of `{agent}` was cancelled", reason="cancelled"
            )
        case "time-limit":
            return Ending(
                state="failed",
                output=(
                    f"`{agent}` was interrupted after {run.spec.limit_s:g} s of work, which is all"
                    f" that it has; give it a smaller task, or go on with run_reply for {run.id}"
                ),
                reason="time-limit",
            )
        case "stopped":
            return Ending(
                state="failed",
                output=(
                    f"`{agent}` was interrupted because Switchboard was stopped;"
                    " look at what it has done so far, then give the task again"
                ),
                reason="interrupted",
            )


def must_end(run: Run) -> bool:
    """Whether a run is not attempted again once its process is gone."""
    return run.spec.on_crash == "fail" or run.attempts >= MOST_ATTEMPTS


def crashed(run: Run) -> Ending:
    """The end of a run whose process was killed, where nobody takes it up again."""
    agent = run.spec.agent
    if not run.attempts:
        return Ending(
            state="failed",
            output=(
                f"`{agent}` was interrupted before it began, because the process that was to run"
                " it ended; give the task again"
            ),
            reason="interrupted",
        )
    times = "" if run.attempts < MOST_ATTEMPTS else f", for the {MOST_ATTEMPTS}rd time"
    return Ending(
        state="failed",
        output=(
            f"`{agent}` was interrupted because the process that ran it ended{times};"
            " look at what it has done so far, then give the task again"
        ),
        reason="interrupted",
    )


def changed_since(run: Run) -> Ending:
    """The end of an interrupted run whose agent is not what it was."""
    return Ending(
        state="failed",
        output=(
            f"`{run.spec.agent}` was interrupted, and was not taken up again because the agent, or"
            " what it may do, has changed since; give the task again"
        ),
        reason="interrupted",
    )


def unattended(run: Run) -> Ending:
    """The end of a run whose agent is gone before its turn came."""
    return Ending(
        state="failed",
        output=(
            f"`{run.spec.agent}` is not there any more, or has changed since the run was started;"
            " list the tools again, then give the task again"
        ),
        reason="agent-changed",
    )


def stranded(run: Run) -> Ending:
    """The end of a run whose conversation lies where nobody works any more."""
    return Ending(
        state="failed",
        output=(
            f"`{run.spec.agent}` was interrupted: its conversation lies on a machine that has no"
            " worker any more; give the task again"
        ),
        reason="interrupted",
    )


def fault_ending(fault: Fault) -> Ending:
    """The end of a run that a fault ended."""
    output = f"{fault.message}; {fault.hint}" if fault.hint else fault.message
    return Ending(state="failed", output=output, reason=fault.reason, private=fault.private)


def unexpected_ending(error: Exception) -> Ending:
    """The end of a run by a mistake of ours."""
    return Ending(
        state="failed",
        output="the run failed inside Switchboard; its log tells why: switchboard daemon logs",
        reason="unexpected",
        private=f"{type(error).__name__}: {error}",
    )


def ended_event(run: Run, private: str) -> RunEnded:
    """What everybody is told of an end; `private` only the log."""
    return RunEnded(
        run_id=run.id,
        agent=run.spec.agent,
        state=run.state,
        reason=run.reason,
        duration_s=max(run.ended_at - run.created_at, 0.0),
        private=private,
    )


def _bounded(text: str) -> str:
    rest = len(text) - MOST_OUTPUT
    if rest <= 0:
        return text
    # A transcript keeps even less of a line so long.
    mark = f"[cut: {rest:,} more characters are not kept; have long answers written to a file]"
    return f"{text[:MOST_OUTPUT]}\n{mark}"
