"""Where an agent may work."""

# Strings of other programs, not paths of ours; links are followed on purpose.

import os
import stat
from pathlib import Path

from switchboard.core.faults import Fault, FaultCode
from switchkit.platform.paths import true_path

_WORKTREES = 1_000
_LONGEST_PATH = 8_192


def judge_cwd(cwd: str, root: str = "") -> str:
    """The folder with every link followed. Raises a fault when no agent may work there.

    With `root`, which the session is pinned to, it has to lie there or in a worktree of it.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        raise _refused("cwd-not-absolute", "`cwd` has to be an absolute path", "write it whole")
    real = true_path(cwd)
    if not os.path.exists(real):
        raise _refused("cwd-missing", "`cwd` leads nowhere", "name a folder that exists")
    if not os.path.isdir(real):
        raise _refused("cwd-not-a-folder", "`cwd` is not a folder", "name the folder it lies in")
    if root and not any(_is_within(real, each) for each in (true_path(root), *_trees(root))):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "cwd-outside-project",
            "`cwd` lies outside of the project that this session is pinned to",
            hint="name a folder in the project or in one of its worktrees",
        )
    return real


def check_unmoved(cwd: str, root: str = "") -> None:
    """Refuse a folder that was judged earlier and is not itself any more.

    Between a call and its run, or the next run of its conversation, whoever works there may have
    put a link in its place.
    """
    if judge_cwd(cwd, root) != cwd:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "cwd-moved",
            "the folder to work in leads elsewhere now",
            hint="look at what lies there, then give the task again",
        )


def _trees(root: str) -> list[str]:
    """The worktrees that the repository of a folder has registered, as git keeps them."""
    git = Path(root) / ".git"
    # Whoever may write in the project can write both of these, so neither is believed alone.
    if git.is_symlink():
        return []
    is_tree = git.is_file()
    try:
        if is_tree:
            # A worktree itself: its siblings are known to the repository.
            git = Path(_short_text(git).removeprefix("gitdir:").strip()).parent.parent
        entries = sorted((git / "worktrees").iterdir())[:_WORKTREES]
    except (OSError, ValueError):
        return []
    found = [tree for entry in entries if (tree := _tree_of(entry))]
    if not is_tree:
        return found
    # The repository has to know of this folder, or it is somebody else's.
    if true_path(root) not in found:
        return []
    return [*found, str(git.parent)] if git.name == ".git" else found


def _tree_of(entry: Path) -> str:
    """The folder of a registered worktree; empty where its two ends do not know of each other."""
    try:
        link = Path(_short_text(entry / "gitdir").strip())
        # A folder that is gone may be another's now.
        back = _short_text(link).removeprefix("gitdir:").strip()
    except (OSError, ValueError):
        return ""
    is_known = true_path(back) == true_path(str(entry))
    return true_path(str(link.parent)) if is_known else ""


def _short_text(path: Path) -> str:
    """The text of a file of git. Raises OSError or ValueError for anything else in its place."""
    # A pipe in its place would hold up who opens it, and a device would never end.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(path)
        return file.read(_LONGEST_PATH).decode()


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _refused(reason: str, message: str, hint: str) -> Fault:
    return Fault(FaultCode.INVALID_ARGUMENT, reason, message, hint=hint)
