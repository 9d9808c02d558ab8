"""Whether a folder is its user's own, so that to prepare it says that it is trusted."""

import os
import re

from switchkit.files import NotPrivate, check_unforgeable, open_plain

# More than any settings of a repository that somebody made by hand.
_GIT_BYTES = 1 << 20
_REMOTE = re.compile(rb"^[^\S\n]*+\[\s*+remote\b", re.MULTILINE | re.IGNORECASE)


def not_ones_own(folder: str) -> str:
    """What speaks against it, in words; nothing if the folder is plainly the user's own.

    What came from elsewhere has to be looked at: to prepare a folder is not to have looked.
    """
    try:
        check_unforgeable(folder)
        if os.path.lexists(os.path.join(folder, ".switchboard")):
            return "the folder already had settings"
        if _has_remote(folder):
            return "the folder belongs to a repository with a remote"
    except NotPrivate as refused:
        return f"the folder {refused.why}"
    except OSError as refused:
        return f"the folder cannot be looked at: {(refused.strerror or '').lower()}"
    return ""


def _has_remote(folder: str) -> bool:
    """Whether the repository that the folder lies in knows another; one that is odd may."""
    while True:
        git = os.path.join(folder, ".git")
        if os.path.lexists(git):
            if not os.path.isdir(git) or os.path.islink(git):
                # A worktree or a submodule, whose settings lie elsewhere.
                return True
            try:
                with open(os.path.join(git, "config"), "rb", opener=open_plain) as file:
                    text = file.read(_GIT_BYTES + 1)
            except FileNotFoundError:
                # No repository, whatever its name.
                text = None
            if text is not None:
                return len(text) > _GIT_BYTES or b"include" in text or bool(_REMOTE.search(text))
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
