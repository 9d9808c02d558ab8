"""Where an agent may work."""

# Strings of other programs, not paths of ours; links are followed on purpose.

import os
from pathlib import Path

from switchboard.core.faults import Fault, FaultCode

_WORKTREES = 1_000


def judge_cwd(cwd: str, root: str = "") -> str:
    """The folder with every link followed. Raises a fault when no agent may work there.

    With `root`, which the session is pinned to, it has to lie there or in a worktree of it.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        raise _refused("cwd-not-absolute", "`cwd` has to be an absolute path", "write it whole")
    real = os.path.realpath(cwd)
    if not os.path.exists(real):
        raise _refused("cwd-missing", "`cwd` leads nowhere", "name a folder that exists")
    if not os.path.isdir(real):
        raise _refused("cwd-not-a-folder", "`cwd` is not a folder", "name the folder it lies in")
    if root and not any(_is_within(real, each) for each in (os.path.realpath(root), *_trees(root))):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "cwd-outside-project",
            "`cwd` lies outside of the project that this session is pinned to",
            hint="name a folder in the project or in one of its worktrees",
        )
    return real


def _trees(root: str) -> list[str]:
    """The worktrees that the repository of a folder has registered, as git keeps them."""
    git = Path(root) / ".git"
    try:
        if git.is_file():
            # A worktree itself: its siblings are known to the repository.
            git = Path(git.read_text("utf-8").removeprefix("gitdir:").strip()).parent.parent
        entries = sorted((git / "worktrees").iterdir())[:_WORKTREES]
    except (OSError, ValueError):
        return []
    found = [str(git.parent)] if git.name == ".git" else []
    for entry in entries:
        try:
            link = Path((entry / "gitdir").read_text("utf-8").strip())
            # Both ends have to know of each other: a folder that is gone may be another's now.
            back = link.read_text("utf-8").removeprefix("gitdir:").strip()
        except (OSError, ValueError):
            continue
        if os.path.realpath(back) == os.path.realpath(entry):
            found.append(os.path.realpath(link.parent))
    return found


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _refused(reason: str, message: str, hint: str) -> Fault:
    return Fault(FaultCode.INVALID_ARGUMENT, reason, message, hint=hint)
