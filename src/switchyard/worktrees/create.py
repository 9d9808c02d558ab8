"""Creates and adopts worktrees. A failure undoes only what this call made."""

import contextlib
import time
from pathlib import Path
from typing import Any

from switchkit.platform.paths import true_folder
from switchyard.config.shapes import Config
from switchyard.core.environ import caller, expanded
from switchyard.core.fault import CONFLICT, USAGE, YardFault
from switchyard.core.slugs import slug
from switchyard.git.repository import check_branch_name, git, listed_worktrees
from switchyard.project.configuration import config_of
from switchyard.project.git_files import main_checkout
from switchyard.project.registry import Worktree
from switchyard.project.scope import ProjectScope, Target
from switchyard.runtime.hooks import HookSite, run_hooks
from switchyard.worktrees.clone import clone
from switchyard.worktrees.commands import run_here
from switchyard.worktrees.envsync import sync


def folder_for(scope: ProjectScope, config: Config, branch: str) -> Path:
    """Where the worktree of a branch goes."""
    if config.worktree_root is None:
        return scope.home.worktrees(scope.root, config.slug) / slug(branch)
    return (scope.root / expanded(config.worktree_root)) / slug(branch)


def _exclude(root: Path, folder: Path) -> None:
    """Keep worktrees inside the repository out of its own status."""
    if not folder.is_relative_to(root):
        return
    path = Path(
        git(root, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude").strip()
    )
    line = f"/{folder.relative_to(root).as_posix()}/"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if line not in text.splitlines():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as exclude:
            exclude.write(("" if text.endswith("\n") or not text else "\n") + line + "\n")


def _add(root: Path, folder: Path, branch: str, base: str) -> bool:
    """Have git make the worktree; whether the branch is new."""
    local, remote = f"refs/heads/{branch}", f"refs/remotes/origin/{branch}"
    known = git(root, "for-each-ref", "--format=%(refname)", local, remote).split()
    if local in known:
        try:
            git(root, "worktree", "add", "--quiet", "--", str(folder), branch)
        except YardFault:
            _explain(root, branch)
            raise
        return False
    if base.startswith("-"):
        raise YardFault("bad-base", f"`{base}` is not a commit", exit_code=USAGE)
    start = f"origin/{branch}" if remote in known else base
    git(root, "worktree", "add", "--quiet", "-b", branch, "--", str(folder), start)
    return True


def _explain(root: Path, branch: str) -> None:
    for one in listed_worktrees(root):
        if one.branch == branch and one.path.is_dir():
            raise YardFault(
                "branch-in-use",
                f"`{branch}` is already checked out at {one.path}",
                hint=f"switchyard adopt {one.path}",
                exit_code=CONFLICT,
            )


def _undo(root: Path, folder: Path, branch: str, *, made_branch: bool) -> None:
    with contextlib.suppress(YardFault):
        tip = git(folder, "rev-parse", "HEAD").strip()
        git(root, "worktree", "remove", "--force", "--", str(folder))
        if made_branch:
            git(root, "update-ref", "-d", f"refs/heads/{branch}", tip)


def create(
    scope: ProjectScope,
    branch: str,
    *,
    base: str | None = None,
    path: Path | None = None,
    force_env: bool = False,
) -> dict[str, Any]:
    """A worktree for the branch, with its env files; the existing one, if there is one."""
    check_branch_name(branch)
    config = config_of(scope)
    if main_checkout(scope.root) is None:
        raise YardFault("no-git", "worktrees need a git repository", hint="git init")
    scope.registry.register(scope.root, config.name)
    known = scope.registration
    there = known.worktree(branch) if known else None
    if there and there.path.is_dir():
        synced = sync(config.env, scope.root, there.path, force=force_env)
        return _told(there, created=False) | {"env": [one.as_json() for one in synced]}
    scope.check_slug(branch)
    folder = (path or folder_for(scope, config, branch)).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise YardFault(
            "path-taken", f"{folder} already exists and is not empty", exit_code=CONFLICT
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    if path is None:
        _exclude(scope.root, folder.parent)
    made_branch = _add(scope.root, folder, branch, base or config.base)
    folder = true_folder(folder)
    try:
        synced = sync(config.env, scope.root, folder, force=force_env)
        cloned = clone(config.clone, scope.root, folder)
        made = Worktree(branch, slug(branch), folder, managed=True, created_at=time.time())
        _register(scope, made)
    except BaseException:
        _undo(scope.root, folder, branch, made_branch=made_branch)
        raise
    site = HookSite(Target(branch, slug(branch), folder), config, caller())
    warnings = run_hooks(config.hooks.post_create, site, run_here, fatal=False)
    return _told(made, created=True) | {
        "env": [one.as_json() for one in synced],
        "cloned": cloned,
        "warnings": warnings,
    }


def _register(scope: ProjectScope, made: Worktree) -> None:
    def change(there: tuple[Worktree, ...]) -> tuple[Worktree, ...]:
        for one in there:
            if one.slug == made.slug and one.branch != made.branch:
                raise YardFault(
                    "slug-taken", f"`{one.branch}` has the same short name", exit_code=CONFLICT
                )
        return (*(one for one in there if one.branch != made.branch), made)

    scope.registry.change_worktrees(scope.root, change)


def _told(worktree: Worktree, *, created: bool) -> dict[str, Any]:
    return {
        "created": created,
        "branch": worktree.branch,
        "slug": worktree.slug,
        "path": str(worktree.path),
        "managed": worktree.managed,
    }


def adopt(scope: ProjectScope, path: Path | None = None) -> dict[str, Any]:
    """Register worktrees made by git or another tool. Their files are not touched."""
    config = config_of(scope)
    scope.registry.register(scope.root, config.name)
    known = scope.registration
    have = {one.path for one in (known.worktrees if known else ())}
    adopted: list[dict[str, Any]] = []
    for one in listed_worktrees(scope.root)[1:]:
        real = true_folder(one.path)
        if (path is not None and real != true_folder(path)) or real in have or not real.is_dir():
            continue
        branch = one.branch or one.head[:7]
        scope.check_slug(branch)
        made = Worktree(branch, slug(branch), real, managed=False, created_at=time.time())
        _register(scope, made)
        adopted.append(_told(made, created=False))
    if path is not None and not adopted and true_folder(path) not in have:
        raise YardFault("no-worktree", f"{path} is not a worktree of this repository")
    return {"adopted": adopted}
