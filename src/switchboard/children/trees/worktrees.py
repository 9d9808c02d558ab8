"""The worktrees of a repository, as its files tell of them. Git is not run: see `git_remote`.

A folder belongs to a repository if both say so: its `.git` names a place in the repository, and
that place names its `.git`. Whoever can write one of them alone makes no folder a worktree of
anything, nor a repository that of any folder.
"""

import os
import re
import stat

from msgspec import Struct

from switchboard.children.accounts.git_remote import git_text
from switchkit.patterns import pattern
from switchkit.platform.paths import true_path

# More than anybody has; a folder with ever more of them is not ours to walk through.
_MOST_TREES = 1_000
_GIT = ".git"
_BRANCH = "ref: refs/heads/"
_BARE = pattern(r"^[ \t]*bare[ \t]*=[ \t]*(?:true|yes|on|1)\b", re.IGNORECASE | re.MULTILINE)


class GitTree(Struct, frozen=True):
    """One checkout of a repository."""

    # Its folder, through no link.
    top: str
    # Where git keeps what is its own: `HEAD`, and the way back.
    place: str
    # What git calls it; nothing for the main one.
    name: str = ""

    @property
    def branch(self) -> str:
        """The branch that is checked out there now; nothing if none is."""
        head = git_text(os.path.join(self.place, "HEAD")).strip()
        return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else ""

    def holds(self, path: str) -> bool:
        """Whether a path, as it is written, is in its folder."""
        return path == self.top or path.startswith(self.top.rstrip(os.sep) + os.sep)


class Repository(Struct, frozen=True):
    """All checkouts of one repository, and the one that somebody stands in."""

    own: GitTree
    trees: tuple[GitTree, ...]

    def tree_of(self, path: str) -> GitTree | None:
        """The worktree that a path lies in, as it is written; they may lie in each other."""
        holding = (tree for tree in self.trees if tree.holds(path))
        return max(holding, key=lambda tree: len(tree.top), default=None)

    def called(self, tree: GitTree) -> str:
        """What people call it: its branch if no other has that, else its name."""
        branch = tree.branch
        if branch and sum(each.branch == branch for each in self.trees) == 1:
            return branch
        return tree.name or os.path.basename(tree.top)

    def named(self, name: str) -> tuple[GitTree, ...]:
        """The worktrees that are meant by a name: a branch, else git's name, else a folder's."""
        return (
            tuple(tree for tree in self.trees if tree.branch == name)
            or tuple(tree for tree in self.trees if tree.name == name)
            or tuple(tree for tree in self.trees if os.path.basename(tree.top) == name)
        )


def repository_of(folder: str) -> Repository | None:
    """The repository of a folder; nothing where it is in none, or one cannot be sure."""
    own = _worktree_above(true_path(folder))
    if own is None:
        return None
    common = own.place if not own.name else os.path.dirname(os.path.dirname(own.place))
    linked = tuple(_linked(common))
    main = own if not own.name else _main(common)
    # It has to be among those that its repository names.
    if own.name and own not in linked:
        return None
    return Repository(own, linked if main is None else (main, *linked))


def tree_name(folder: str) -> str:
    """What people call the worktree that a folder lies in; nothing where there is no repository."""
    repository = repository_of(folder)
    return "" if repository is None else repository.called(repository.own)


def top_of(folder: str) -> str:
    """The folder of the checkout that a folder lies in; nothing if it is in none."""
    here = true_path(folder)
    while not _is_git(os.path.join(here, _GIT)):
        above = os.path.dirname(here)
        if above == here:
            return ""
        here = above
    return here


def _is_git(path: str) -> bool:
    """Whether git would go by it: it passes by a folder that only has the name."""
    return os.path.lexists(os.path.join(path, "HEAD")) or (
        os.path.lexists(path) and not os.path.isdir(path)
    )


def _worktree_above(folder: str) -> GitTree | None:
    top = top_of(folder)
    if not top:
        return None
    path = os.path.join(top, _GIT)
    about = _about(path)
    # A link, or the `.git` of another user, is nothing to build on.
    if about is None:
        return None
    if stat.S_ISDIR(about.st_mode):
        return GitTree(top, path)
    if not stat.S_ISREG(about.st_mode):
        return None
    place = _place_in(path)
    name = os.path.basename(place)
    is_linked = os.path.basename(os.path.dirname(place)) == "worktrees"
    return GitTree(top, place, name) if is_linked and name else None


def _main(common: str) -> GitTree | None:
    """The checkout around the repository itself, if there is one."""
    about = _about(common)
    if os.path.basename(common) != _GIT or about is None or not stat.S_ISDIR(about.st_mode):
        return None
    if _BARE.search(git_text(os.path.join(common, "config"))):
        return None
    return GitTree(os.path.dirname(common), common)


def _linked(common: str) -> list[GitTree]:
    """The other checkouts that the repository names, and that name it."""
    folder = os.path.join(common, "worktrees")
    found: list[GitTree] = []
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= _MOST_TREES:
                    break
                if not entry.is_dir(follow_symlinks=False):
                    continue
                tree = _named_by(entry.path, entry.name)
                if tree is not None:
                    found.append(tree)
    except OSError:
        # It has no others.
        return []
    return sorted(found, key=lambda tree: tree.name)


def _named_by(place: str, name: str) -> GitTree | None:
    said = git_text(os.path.join(place, "gitdir")).strip()
    if not said or "\0" in said:
        return None
    # Newer ones may write it from where it stands.
    link = os.path.normpath(os.path.join(place, said))
    top = true_path(os.path.dirname(link))
    path = os.path.join(top, _GIT)
    about = _about(path)
    if os.path.basename(link) != _GIT or about is None or not stat.S_ISREG(about.st_mode):
        return None
    return GitTree(top, place, name) if _place_in(path) == place else None


def _place_in(path: str) -> str:
    """Where the `.git` file of a checkout says that the rest is; nothing if it does not say."""
    said = git_text(path).strip()
    if not said.startswith("gitdir:") or "\0" in said:
        return ""
    return true_path(os.path.join(os.path.dirname(path), said.removeprefix("gitdir:").strip()))


def _about(path: str) -> os.stat_result | None:
    """What lies there, if it is ours."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found if found.st_uid == os.getuid() else None
