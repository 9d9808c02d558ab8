"""Clones large ignored folders into a worktree, sharing disk blocks where the disk can."""

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

from switchkit.platform.files import clone_file
from switchyard.config.shapes import Clone

_UNSHARED = 'this disk cannot share blocks (`mode = "copy"` under [clone] copies it)'


class _NoReflinkError(Exception):
    """The disk cannot share blocks between files."""


def _reflink(source: str, target: str, mode: int) -> None:
    if not clone_file(source, target, mode):
        raise _NoReflinkError


def _tree(source: Path, target: Path, how: str) -> int:
    """Clone a folder; returns the number of files."""
    count = 0
    target.mkdir(parents=True)
    with os.scandir(source) as entries:
        for entry in entries:
            goal = target / entry.name
            if entry.is_symlink():
                goal.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                count += _tree(Path(entry.path), goal, how)
            elif entry.is_file():
                count += 1
                if how == "hardlink":
                    goal.hardlink_to(entry.path)
                elif how == "copy":
                    shutil.copy2(entry.path, goal)
                else:
                    _reflink(entry.path, str(goal), entry.stat().st_mode & 0o777)
    return count


def _found(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    made: list[Path] = []
    for pattern in patterns:
        made += [one for one in sorted(root.glob(pattern)) if one.is_dir() and not one.is_symlink()]
    return made


def clone(rules: Clone, root: Path, worktree: Path) -> list[dict[str, Any]]:
    """Clone the configured folders. `auto` skips, and says so, where blocks cannot be shared."""
    made: list[dict[str, Any]] = []
    if rules.mode == "off":
        return made
    how = "reflink" if rules.mode == "auto" else rules.mode
    for source in _found(root, rules.paths):
        name = str(source.relative_to(root))
        target = worktree / name
        if target.exists():
            made.append({"path": name, "result": "kept"})
            continue
        try:
            made.append({"path": name, "result": how, "files": _tree(source, target, how)})
        except (_NoReflinkError, OSError) as wrong:
            with contextlib.suppress(OSError):
                shutil.rmtree(target)  # made by this very call
            told = _UNSHARED if isinstance(wrong, _NoReflinkError) else wrong
            made.append({"path": name, "result": "skipped", "reason": str(told)})
    return made
