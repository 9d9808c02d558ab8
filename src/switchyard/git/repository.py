"""The few questions for git, answered by its command-line tool; nothing is guessed."""

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from switchyard.core.fault import USAGE, YardFault
from switchyard.git.status import git_environment

_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|^[-/.]|[/.]$|\.lock(?:/|$)|^@$")


class ListedWorktree(NamedTuple):
    """One line of `git worktree list`."""

    path: Path
    head: str
    branch: str | None
    locked: bool
    prunable: bool


def git(cwd: Path, *arguments: str, check: bool = True) -> str:
    """What git prints. Raises `YardFault` with git's own words when it fails."""
    done = _git(cwd, *arguments)
    if check and done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise YardFault("git-failed", f"git {arguments[0]}: {told[-1] if told else 'failed'}")
    return os.fsdecode(done.stdout)


def git_ok(cwd: Path, *arguments: str) -> bool:
    """Whether git says yes."""
    return _git(cwd, *arguments).returncode == 0


def _git(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", "-C", str(cwd), *arguments],
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise YardFault("git-missing", "git is not installed") from None


def check_branch_name(branch: str) -> None:
    """Refuse a name that git would reject as a branch, or would read as an option."""
    if not branch or _BAD_REF.search(branch) or len(branch) > 200:  # noqa: PLR2004 - longer never fits a path
        raise YardFault("bad-branch", f"`{branch}` is not a valid branch name", exit_code=USAGE)


def listed_worktrees(root: Path) -> list[ListedWorktree]:
    """Every worktree git knows, the main one first."""
    made: list[ListedWorktree] = []
    for block in git(root, "worktree", "list", "--porcelain", "-z").split("\0\0"):
        fields: dict[str, str] = {}
        for line in block.split("\0"):
            key, _, value = line.partition(" ")
            fields[key] = value
        if "worktree" in fields:
            branch = fields.get("branch", "")
            made.append(
                ListedWorktree(
                    Path(fields["worktree"]),
                    fields.get("HEAD", ""),
                    branch[11:] if branch.startswith("refs/heads/") else None,
                    "locked" in fields,
                    "prunable" in fields,
                )
            )
    return made
