"""What git's own files say about a checkout, read without starting git."""

import contextlib
from pathlib import Path

from switchkit.platform.paths import true_folder

_BRANCHES = "ref: refs/heads/"


def git_folder(path: Path) -> Path | None:
    """The git folder of the checkout that holds this path, without asking git."""
    for folder in (path, *path.parents):
        entry = folder / ".git"
        if entry.is_dir():
            return entry
        if entry.is_file():
            text = entry.read_text(encoding="utf-8", errors="replace").strip()
            if text.startswith("gitdir: "):
                return true_folder(folder / text[8:])
    return None


def current_branch(path: Path) -> str:
    """The checked-out branch; the short commit when detached; `default` outside git.

    While a branch is rebased, git is detached from it; it is still the branch at work.
    """
    folder = git_folder(path)
    if folder is None:
        return "default"
    try:
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
    except OSError:
        return "default"
    if head.startswith(_BRANCHES):
        return head[len(_BRANCHES) :]
    for step in ("rebase-merge", "rebase-apply"):
        with contextlib.suppress(OSError):
            name = (folder / step / "head-name").read_text(encoding="utf-8").strip()
            if name.startswith("refs/heads/"):
                return name.removeprefix("refs/heads/")
    return head[:7] or "default"


def main_checkout(path: Path) -> Path | None:
    """The main checkout of the repository that this path belongs to."""
    folder = git_folder(path)
    if folder is None:
        return None
    common = folder / "commondir"
    if common.is_file():
        shared = true_folder(folder / common.read_text(encoding="utf-8").strip())
        return shared.parent if shared.name == ".git" else None
    return folder.parent if folder.name == ".git" else None
