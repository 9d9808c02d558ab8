"""The registered worktrees of a project. Reads only."""

from typing import Any

from switchyard.project.git_files import current_branch
from switchyard.project.scope import ProjectScope
from switchyard.queries.services import observed_runs


def worktrees(scope: ProjectScope) -> dict[str, Any]:
    """Registered worktrees of the project, with what runs in each."""
    alive: dict[str, list[str]] = {}
    for one in observed_runs(scope):
        if one.status == "running":
            alive.setdefault(one.run.branch, []).append(one.run.service)
    known = scope.registration
    return {
        "root": str(scope.root),
        "worktrees": [
            {
                "branch": one.branch,
                "slug": one.slug,
                "path": str(one.path),
                "exists": one.path.is_dir(),
                "head": current_branch(one.path) if one.path.is_dir() else None,
                "managed": one.managed,
                "running": alive.get(one.branch, []),
            }
            for one in (known.worktrees if known else ())
        ],
    }
