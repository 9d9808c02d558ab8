"""Removes worktrees: refuses when work could be lost, and moves aside instead of deleting."""

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

from switchkit.platform.facts import command_line, working_folder
from switchkit.platform.paths import true_folder
from switchkit.platform.processes import pids
from switchkit.tenancy import Removal
from switchyard.control.client import ask
from switchyard.control.protocol import DownAnswer, DownRequest, StoppedRow
from switchyard.core.environ import caller
from switchyard.core.fault import CONFLICT, USAGE, YardFault
from switchyard.git.repository import git, git_ok, listed_worktrees
from switchyard.git.status import changed_files
from switchyard.project.configuration import config_of
from switchyard.project.registry import Worktree
from switchyard.project.scope import SHARED_BRANCH, ProjectScope, Target
from switchyard.runtime.family import members
from switchyard.runtime.hooks import HookSite, run_hooks
from switchyard.runtime.ports import PortTable
from switchyard.runtime.runs import RunBook
from switchyard.worktrees.commands import run_here
from switchyard.worktrees.resources import drop_resources, droppable, reasons_to_keep
from switchyard.worktrees.state import lost_state, old_state, put_state_aside

TRASH = "switchyard-trash"
TRASH_S = 7 * 86400.0
# A server that is asked to end may take a few seconds, and is then made to.
VACATE_S = 20.0


class Force(NamedTuple):
    """What the user agreed to lose: changes in the tree, or commits of the branch."""

    tree: bool = False
    branch: bool = False


NOTHING = Force()


def lone_commits(root: Path, branch: str) -> int:
    """Commits that only this branch holds: in no other branch, tag or remote."""
    told = git(
        root,
        "rev-list",
        "--count",
        f"refs/heads/{branch}",
        "--not",
        f"--exclude={branch}",
        "--branches",
        "--tags",
        "--remotes",
        check=False,
    ).strip()
    return int(told) if told.isdigit() else 0


def inhabitants(folder: Path) -> list[dict[str, Any]]:
    """Processes whose current folder is in this folder."""
    made: list[dict[str, Any]] = []
    for pid in pids():
        where = working_folder(pid)
        if where and Path(where).is_relative_to(folder) and pid != os.getpid():
            made.append({"pid": pid, "command": command_line(pid)})
    return made


def reasons(
    scope: ProjectScope, worktree: Worktree, force: Force, *, delete_branch: bool
) -> list[str]:
    """Every reason not to remove it."""
    told: list[str] = []
    folder = worktree.path
    listed = {true_folder(one.path): one for one in listed_worktrees(scope.root)}
    entry = listed.get(folder)
    if entry and entry.locked:
        told.append("it is locked; run `git worktree unlock` first")
    if folder.is_dir():
        changed = changed_files(folder)
        if changed and not force.tree:
            told.append(
                f"{len(changed)} file(s) are modified or untracked, such as `{changed[0][3:]}`"
            )
        if entry and entry.branch is None and not force.branch:
            told.append("it is detached, so its commits may be on no branch")
    has_branch = git_ok(
        scope.root, "show-ref", "--verify", "--quiet", f"refs/heads/{worktree.branch}"
    )
    if delete_branch and has_branch and not force.branch:
        lone = lone_commits(scope.root, worktree.branch)
        if lone:
            told.append(f"{lone} commit(s) are neither merged nor pushed")
    return told


def remove(
    scope: ProjectScope, branch: str, *, force: Force = NOTHING, delete_branch: bool = False
) -> dict[str, Any]:
    """Stop what is running there and move the worktree aside.

    Raises `YardFault` with every reason not to.
    """
    known = scope.registration
    worktree = known.worktree(branch) if known else None
    if worktree is None:
        raise YardFault(
            "unknown-branch", f"no worktree is registered for `{branch}`", exit_code=USAGE
        )
    _refuse(branch, reasons(scope, worktree, force, delete_branch=delete_branch))
    with Removal(str(worktree.path)) as removal:
        _vacate(removal, branch, force)
        return _removed(scope, worktree, force, delete_branch=delete_branch)


def _vacate(removal: Removal, branch: str, force: Force) -> None:
    """Have other programs of the user end what they run there, and start nothing more."""
    try:
        is_vacated = removal.vacated(VACATE_S)
    except OSError:
        # Nobody can be told: what stands there shows in a moment.
        return
    if not is_vacated and not force.tree:
        _refuse(branch, ["a program that runs servers in it does not let go of it"])


def _removed(
    scope: ProjectScope, worktree: Worktree, force: Force, *, delete_branch: bool
) -> dict[str, Any]:
    branch = worktree.branch
    # Everything that refuses comes before anything that acts.
    own = {
        one.pid for run in RunBook(scope.places).all(worktree.slug) for one in members(run.leader)
    }
    _refuse(branch, _living_there(worktree, force, own))
    target = Target(worktree.branch, worktree.slug, worktree.path)
    config = config_of(scope)
    sites = droppable(scope, config, target) if config.resources else []
    if not own:
        _refuse(branch, reasons_to_keep(sites))
    stopped: list[StoppedRow] = []
    if RunBook(scope.places).all(worktree.slug):
        stopped = ask(scope.home, scope.root, DownRequest(branch), DownAnswer)["stopped"]
    # Its own services are gone by now: whoever is connected still is somebody else.
    _refuse(branch, reasons_to_keep(sites))
    if worktree.path.is_dir():
        site = HookSite(target, config, caller())
        run_hooks(config.hooks.pre_remove, site, run_here, fatal=True)
    # Hooks may have changed files; the check has to see what will be moved aside.
    against = reasons(scope, worktree, force, delete_branch=delete_branch)
    _refuse(branch, [*against, *_living_there(worktree, force, ())])
    dropped = drop_resources(sites)
    trash = _put_aside(scope.root, worktree.path) if worktree.path.is_dir() else None
    git(scope.root, "worktree", "remove", "--force", "--", str(worktree.path), check=False)
    deleted = delete_branch and _delete_branch(scope.root, branch)
    scope.registry.change_worktrees(
        scope.root, lambda there: tuple(one for one in there if one.branch != branch)
    )
    PortTable(scope.home).release(scope.root, branch)
    if deleted:
        put_state_aside(scope.places, worktree.slug)
    return {
        "removed": branch,
        "path": str(worktree.path),
        "trash": str(trash) if trash else None,
        "branch_deleted": deleted,
        "stopped": stopped,
        "dropped": dropped,
    }


def _living_there(worktree: Worktree, force: Force, own: Container[int]) -> list[str]:
    """Who runs in the folder, besides its own services."""
    there = [] if force.tree else inhabitants(worktree.path)
    return [
        f"process {one['pid']} is running in it: {one['command']}"
        for one in there
        if one["pid"] not in own
    ]


def _refuse(branch: str, told: list[str]) -> None:
    if told:
        raise YardFault(
            "would-lose-work",
            f"`{branch}` is not removed: {'; '.join(told)}",
            hint="commit or push; `--force-tree` discards changes, `--force-branch` commits",
            exit_code=CONFLICT,
            details={"reasons": told},
        )


def _trash_folders(root: Path, folder: Path) -> list[Path]:
    common = git(root, "rev-parse", "--path-format=absolute", "--git-common-dir").strip()
    return [Path(common) / TRASH, folder.parent / f".{TRASH}"]


def _put_aside(root: Path, folder: Path) -> Path:
    for trash in _trash_folders(root, folder):
        trash.mkdir(parents=True, exist_ok=True)
        goal = trash / f"{folder.name}-{time.strftime('%Y%m%dT%H%M%S')}-{os.urandom(2).hex()}"
        try:
            return folder.rename(goal)
        except OSError as wrong:
            if wrong.errno != errno.EXDEV:
                raise YardFault(
                    "cannot-move", f"{folder} cannot be moved: {wrong.strerror}"
                ) from None
    raise YardFault("cannot-move", f"{folder} is on a separate file system")


def _delete_branch(root: Path, branch: str) -> bool:
    tip = git(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False).strip()
    # Compare and swap: a commit made in this very moment keeps the branch.
    return bool(tip) and git_ok(root, "update-ref", "-d", f"refs/heads/{branch}", tip)


def _folder_bytes(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(where) / name).lstat().st_blocks * 512
    return total


def prune(scope: ProjectScope, *, dry_run: bool = True, merged: bool = False) -> dict[str, Any]:
    """Forget worktrees that are gone and empty old trash; with `merged`, remove finished ones."""
    known = scope.registration
    rows: list[dict[str, Any]] = []
    for one in known.worktrees if known else ():
        gone = not one.path.is_dir()
        against = [] if gone else reasons(scope, one, Force(), delete_branch=True)
        done = not gone and not against and one.managed
        row = {
            "branch": one.branch,
            "path": str(one.path),
            "bytes": 0 if gone else _folder_bytes(one.path),
            "age_s": round(time.time() - one.created_at),
            "gone": gone,
            "finished": done,
            "kept_because": against,
            "action": "forget" if gone else ("remove" if merged and done else "keep"),
        }
        rows.append(row)
        if dry_run:
            continue
        if gone:
            _forget(scope, one)
        elif merged and done:
            remove(scope, one.branch)
    emptied = _old_trash(scope, dry_run=dry_run)
    orphaned = lost_state(scope)
    emptied += old_state(scope.places, TRASH_S)
    if not dry_run:
        for slug in orphaned:
            put_state_aside(scope.places, slug)
        for path in old_state(scope.places, TRASH_S):
            shutil.rmtree(path, ignore_errors=True)
        alive = {run.branch for run in RunBook(scope.places).all()}
        alive |= {one.branch for one in scope.targets()} | {SHARED_BRANCH}
        PortTable(scope.home).retain(scope.root, alive)
    return {"dry_run": dry_run, "worktrees": rows, "trash": emptied, "data": orphaned}


def _forget(scope: ProjectScope, worktree: Worktree) -> None:
    if RunBook(scope.places).all(worktree.slug):
        ask(scope.home, scope.root, DownRequest(worktree.branch), DownAnswer)
    scope.registry.change_worktrees(
        scope.root, lambda there: tuple(one for one in there if one.branch != worktree.branch)
    )
    PortTable(scope.home).release(scope.root, worktree.branch)


def _old_trash(scope: ProjectScope, *, dry_run: bool) -> list[str]:
    common = git(scope.root, "rev-parse", "--path-format=absolute", "--git-common-dir", check=False)
    trash = Path(common.strip()) / TRASH
    old: list[str] = []
    if common.strip() and trash.is_dir():
        for one in sorted(trash.iterdir()):
            if _age_s(one.name) > TRASH_S:
                old.append(str(one))
                if not dry_run:
                    shutil.rmtree(one, ignore_errors=True)
    return old


def _age_s(name: str) -> float:
    """How long ago something was moved aside, from the time in its name."""
    try:
        return time.time() - time.mktime(time.strptime(name.split("-")[-2], "%Y%m%dT%H%M%S"))
    except (ValueError, IndexError):
        return 0.0
