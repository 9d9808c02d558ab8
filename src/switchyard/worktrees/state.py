"""Data and logs of branches that are gone: moved aside like worktrees, emptied after a while."""

import contextlib
import os
import time
from pathlib import Path

from switchyard.core.slugs import slug
from switchyard.git.repository import git
from switchyard.project.home import ProjectPlaces
from switchyard.project.scope import SHARED_SLUG, ProjectScope
from switchyard.runtime.runs import RunBook

KINDS = ("data", "logs")


def put_state_aside(places: ProjectPlaces, branch_slug: str) -> None:
    """Let a later branch of this name begin without what this one has left."""
    stamp = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.urandom(2).hex()}"
    for kind in KINDS:
        folder = places.folder / kind / branch_slug
        if folder.is_dir():
            goal = places.folder / "trash" / f"{kind}-{branch_slug}-{stamp}"
            goal.parent.mkdir(mode=0o700, exist_ok=True)
            folder.rename(goal)
            # Its own time would be that of the last change in it.
            os.utime(goal)


def lost_state(scope: ProjectScope) -> list[str]:
    """Short names under which something is kept, though no branch, worktree or run has them."""
    listed = git(scope.root, "for-each-ref", "--format=%(refname:short)", "refs/heads", check=False)
    known = {slug(one) for one in listed.splitlines()} | {one.slug for one in scope.targets()}
    known |= {run.branch_slug for run in RunBook(scope.places).all()} | {SHARED_SLUG}
    found: set[str] = set()
    for kind in KINDS:
        with contextlib.suppress(FileNotFoundError):
            found |= {one.name for one in os.scandir(scope.places.folder / kind) if one.is_dir()}
    return sorted(found - known)


def old_state(places: ProjectPlaces, older_than_s: float) -> list[str]:
    """What was put aside so long ago that it goes."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(
            one.path
            for one in os.scandir(places.folder / "trash")
            if time.time() - Path(one.path).stat().st_mtime > older_than_s
        )
    return []
