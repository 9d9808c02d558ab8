"""Brings the files that git does not carry into a new worktree: links, copies, includes."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from switchkit.platform.paths import true_folder
from switchyard.config.shapes import EnvSync
from switchyard.core.fault import YardFault
from switchyard.git.repository import git
from switchyard.git.status import git_environment

INCLUDE_FILE = ".worktreeinclude"


class Synced(NamedTuple):
    """What was done with one file."""

    path: str
    mode: str
    result: str

    def as_json(self) -> dict[str, Any]:
        """As it is told."""
        return self._asdict()


def _safe(source: Path, target: Path, root: Path, worktree: Path) -> None:
    if not true_folder(source).is_relative_to(true_folder(root)):
        raise YardFault("env-escapes", f"`{source.name}` points outside the project: {source}")
    if not true_folder(target.parent).is_relative_to(true_folder(worktree)):
        raise YardFault("env-escapes", f"`{target.name}` would land outside the worktree: {target}")


def _one(path: str, mode: str, root: Path, worktree: Path, *, force: bool) -> Synced:
    source, target = root / path, worktree / path
    if not source.exists():
        return Synced(path, mode, "missing")
    _safe(source, target, root, worktree)
    if target.is_symlink() or target.exists():
        if not force or (target.is_dir() and not target.is_symlink()):
            return Synced(path, mode, "kept")
        target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    _safe(source, target, root, worktree)
    if mode == "link":
        target.symlink_to(source, target_is_directory=source.is_dir())
    elif source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)
    return Synced(path, mode, "linked" if mode == "link" else "copied")


def included(root: Path) -> list[str]:
    """Files that `.worktreeinclude` names and git ignores."""
    if not (root / INCLUDE_FILE).is_file():
        return []
    raw = git(root, "ls-files", "-z", "--others", "--ignored", f"--exclude-from={INCLUDE_FILE}")
    named = [one for one in raw.split("\0") if one]
    if not named:
        return []
    done = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "-z", "--stdin"],
        env=git_environment(),
        input="\0".join(named).encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )
    return [os.fsdecode(one) for one in done.stdout.split(b"\0") if one]


def sync(rules: EnvSync, root: Path, worktree: Path, *, force: bool = False) -> list[Synced]:
    """Link, copy and include what is configured, and nothing else."""
    made = [_one(path, "link", root, worktree, force=force) for path in rules.link]
    made += [_one(path, "copy", root, worktree, force=force) for path in rules.copy]
    if rules.worktreeinclude:
        done: Iterable[str] = (*rules.link, *rules.copy)
        made += [
            _one(path, "include", root, worktree, force=force)
            for path in included(root)
            if path not in done
        ]
    return made
