"""What stays protected inside a folder that may be changed.

Hooks, settings of editors and of coding tools, and files that say what runs: whoever could write
them would run code outside of the sandbox later.
"""

import os
from typing import Literal

from msgspec import Struct

from switchboard.sandbox.refusals import refused_env_files, refused_link, refused_repositories

PROTECTED = (
    # The whole of it: besides hooks and settings, a new `commondir` in it makes git take both from
    # elsewhere, and an interrupted rebase in it runs commands.
    ".git",
    ".vscode",
    ".idea",
    ".cursor",
    ".claude",
    ".codex",
    ".agents",
    ".switchboard",
    ".mcp.json",
    "mcp.json",
    ".envrc",
    ".gitmodules",
    ".gitconfig",
    ".npmrc",
    ".pre-commit-config.yaml",
    ".husky",
    ".githooks",
)
# What is protected where somebody opened a `.git` by name, and it is no repository's any more.
_GIT = ".git"
PROTECTED_IN_GIT = ("hooks", "config", "config.worktree", "commondir", "modules", "worktrees")
# Examples of environment files are part of the source.
_EXAMPLES = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
_ENV = ".env"
_DEPTH = 3
_PASSED_BY = frozenset({".git", "node_modules", ".venv", "target"})
_MOST = 100
_MOST_ENV_FILES = 500


class PathGuard(Struct, frozen=True):
    """One path inside a writable folder, and what becomes of it.

    What is pinned stays where it is, what is protected stays as it is, and what is hidden cannot
    be read either.
    """

    kind: Literal["pinned", "protected", "hidden"]
    path: str


def guards(root: str, *, read_env_files: bool) -> list[PathGuard]:
    """What is guarded in a writable folder and its repositories, each after what it lies in."""
    found: list[PathGuard] = []
    pinned = {root}
    below = _Below(root)
    if len(below.repositories) > _MOST:
        raise refused_repositories(_MOST)
    for repository in (root, *below.repositories):
        _refuse_links(root, repository)
        for folder in way(root, repository):
            # The way to a repository too: renaming a folder takes along what is mounted in it.
            if folder not in pinned:
                pinned.add(folder)
                found.append(PathGuard("pinned", folder))
        found += _guarded(repository)
        for path in () if read_env_files else env_files(repository):
            _refuse_links(repository, path)
            found.append(PathGuard("hidden", path))
    # Last, because what is mounted above a file uncovers it again.
    hidden = {guard.path for guard in found}
    deeper = () if read_env_files else _few(below.env_files)
    return found + [PathGuard("hidden", path) for path in deeper if path not in hidden]


def hidden_files(root: str, *, read_env_files: bool) -> list[str]:
    """What is hidden in a folder that stays as it is, where nothing else needs a guard."""
    found = guards(root, read_env_files=read_env_files)
    return [guard.path for guard in found if guard.kind == "hidden"]


def env_files(folder: str) -> list[str]:
    """The files of a folder that hold its environment, most of it secret."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if _is_env_file(name)]


def env_files_below(folder: str) -> list[str]:
    """Those of the folders in it, as deep as repositories are looked for."""
    return _few(_Below(folder).env_files)


def _few(files: list[str]) -> list[str]:
    if len(files) > _MOST_ENV_FILES:
        raise refused_env_files(_MOST_ENV_FILES)
    return files


class _Below:
    """What there is in the folders of a folder, links not followed."""

    def __init__(self, root: str) -> None:
        self.repositories: list[str] = []
        self.env_files: list[str] = []
        self._look(root, _DEPTH)

    def _look(self, folder: str, depth: int) -> None:
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if depth and entry.name not in _PASSED_BY:
                    if os.path.lexists(os.path.join(entry.path, _GIT)):
                        self.repositories.append(entry.path)
                    self._look(entry.path, depth - 1)
            elif depth < _DEPTH and _is_env_file(entry.name) and not entry.is_symlink():
                self.env_files.append(entry.path)


def _is_env_file(name: str) -> bool:
    return (name == _ENV or name.startswith(f"{_ENV}.")) and name not in _EXAMPLES


def way(root: str, path: str) -> list[str]:
    """The folders from a root down to a path."""
    folders: list[str] = []
    while path != root:
        folders.append(path)
        path = os.path.dirname(path)
    return folders[::-1]


def _guarded(repository: str) -> list[PathGuard]:
    is_git = os.path.basename(repository) == _GIT
    found: list[PathGuard] = []
    for name in PROTECTED_IN_GIT:
        # A link in it would lead to where nothing is protected.
        _refuse_links(repository, os.path.join(repository, _GIT, name))
    for name in PROTECTED_IN_GIT if is_git else PROTECTED:
        path = os.path.join(repository, name)
        if os.path.lexists(path):
            _refuse_links(repository, path)
            found.append(PathGuard("protected", path))
    return found


def _refuse_links(root: str, path: str) -> None:
    """Raise a fault when a part of `path` below `root` is a link.

    A mount follows links, so one that can be changed from inside decides what is mounted.
    """
    part = root
    for name in os.path.relpath(path, root).split(os.sep):
        part = os.path.join(part, name)
        if os.path.islink(part):
            raise refused_link(part)
