"""What came with a folder: a clone is often larger than the part of it that is opened."""

import os
import stat

from switchkit.commands import lies_in
from switchkit.platform.paths import true_path


def repository_of(folder: str, home: str = "~") -> str:
    """The nearest repository that a folder lies in, without links; nothing where there is none.

    One that holds the home of the user is the user's own, and says nothing of its folders. So is
    none a folder that everybody puts files into, as `/tmp`.
    """
    at = true_path(folder)
    while at != os.path.dirname(at) and not _is_everybodys(at):
        if _is_repository(at):
            is_users = lies_in(true_path(os.path.expanduser(home)), at)
            return "" if is_users else at
        at = os.path.dirname(at)
    return ""


def _is_repository(folder: str) -> bool:
    # A folder without a head is none to git either; sandboxes leave empty ones behind.
    git = os.path.join(folder, ".git")
    return os.path.lexists(os.path.join(git, "HEAD")) or os.path.isfile(git) or os.path.islink(git)


def _is_everybodys(folder: str) -> bool:
    try:
        return bool(os.stat(folder).st_mode & stat.S_ISVTX)
    except OSError:
        return False


def ground_of(folder: str, home: str = "~") -> str:
    """That repository, or the folder itself: whoever wrote a part of it wrote all of it."""
    return repository_of(folder, home) or true_path(folder)
