"""The faults of whoever wants of a run, or of runs, what cannot be now."""

from switchboard.core.faults import Fault, FaultCode
from switchboard.runs.run import Run


def not_working(run: Run) -> Fault:
    """More input for a run that takes none."""
    why = "has ended" if run.has_ended else "waits for its turn, or works in another process"
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "run-not-working",
        f"run {run.id} {why}, so it takes no more input",
        hint=f"switchboard runs reply {run.id} TEXT" if run.has_ended else "try again later",
    )


def stopping() -> Fault:
    """A new run for a process that is about to end."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "stopping",
        "Switchboard is about to end, so no run is started",
        hint="make the call again",
    )
