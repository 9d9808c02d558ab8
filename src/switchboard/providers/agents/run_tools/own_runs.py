"""The runs of one workspace, of one person and of one client, and no others."""

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.people import key_of
from switchboard.core.sessions import Session
from switchboard.providers.agents.calls.request_keys import owner_of
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run


def is_own(run: Run, workspace: str, session: Session) -> bool:
    """Whether a run is of the workspace, and of whoever has this session."""
    is_theirs = key_of(run.spec.person) == key_of(session.person)
    return run.spec.workspace == workspace and is_theirs


async def own_run(runs: Runs, workspace: str, run_id: str, session: Session) -> Run:
    """A run of the workspace that this person may know, or a `not_found` fault."""
    unknown = Fault(
        FaultCode.NOT_FOUND,
        "unknown-run",
        f"there is no run `{run_id}` in this workspace",
        hint="use the id that the agent's tool answered with",
    )
    try:
        run = await runs.get(run_id)
    except Fault as fault:
        if fault.code is FaultCode.NOT_FOUND:
            raise unknown from None
        raise
    # In the same words: nobody learns that there is such a run elsewhere.
    if not is_own(run, workspace, session):
        raise unknown
    return run


async def own_task(runs: Runs, workspace: str, run_id: str, session: Session) -> Run:
    """A run that this client has started, or a `not_found` fault."""
    unknown = Fault(FaultCode.NOT_FOUND, "unknown-task", f"there is no task `{run_id}`")
    try:
        run = await own_run(runs, workspace, run_id, session)
    except Fault as fault:
        if fault.code is FaultCode.NOT_FOUND:
            raise unknown from None
        raise
    if not run.spec.owner or run.spec.owner != owner_of(session):
        raise unknown
    return run
