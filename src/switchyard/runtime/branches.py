"""The branches that commands may name: those checked out, and those that something runs under."""

from pathlib import Path

from switchyard.core.fault import YardFault
from switchyard.project.git_files import current_branch
from switchyard.project.scope import SHARED_BRANCH, ProjectScope, Target
from switchyard.runtime.runs import RunBook, RunRecord


def known_target(scope: ProjectScope, branch: str | None = None) -> Target:
    """The requested branch, also one that is checked out no more but still runs.

    Raises `YardFault` when there is neither.
    """
    try:
        return scope.target(branch)
    except YardFault:
        for run in RunBook(scope.places).all():
            if branch in (run.branch, run.branch_slug) and run.branch != SHARED_BRANCH:
                return Target(run.branch, run.branch_slug, Path(run.worktree))
        raise


def switched_to(run: RunRecord) -> str | None:
    """The branch that is now checked out where a run was started, if it is another one."""
    folder = Path(run.worktree)
    if run.branch == SHARED_BRANCH or not folder.is_dir():
        return None
    head = current_branch(folder)
    return None if head == run.branch else head
