"""What stays protected inside a folder that may be changed.

Hooks, settings of editors and of coding tools, and files that say what runs: whoever could write
them would run code outside of the sandbox later.
"""

import os
from typing import Literal

from msgspec import Struct

from switchboard.sandbox.refusals import refused_env_files, refused_link, refused_repositories
from switchboard.sandbox.walls.guarded_names import is_protected, is_secret, tells_secrets
from switchboard.sandbox.walls.inventory import Inventory, inventory
from switchkit.platform.paths import folded, spelled

# What is protected where somebody opened a `.git` by name, and it is no repository's any more.
_GIT = ".git"
PROTECTED_IN_GIT = ("hooks", "config", "config.worktree", "commondir", "modules", "worktrees")
_SETTINGS = ("config", "config.worktree", "credentials")
_SETTINGS_BYTES = 1 << 18
# A link in place of these is refused. Others, such as words for agents, are often links to one
# another: what they lead to is protected, and a link that became a file is told afterwards.
_NO_LINKS = frozenset(
    {
        *PROTECTED_IN_GIT,
        *(".git", ".vscode", ".idea", ".cursor", ".claude", ".codex", ".agents", ".switchboard"),
        *(".mcp.json", "mcp.json", ".envrc", ".gitmodules", ".gitconfig", ".npmrc", ".husky"),
        *(".pre-commit-config.yaml", ".githooks"),
    }
)
_MOST = 100
_MOST_SECRETS = 500
# Each is a mount, and mounts take time. Nearest first.
_MOST_PROTECTED = 200


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
    below = inventory(root)
    if len(below.repositories) > _MOST:
        raise refused_repositories(_MOST)

    def pin(folder: str) -> None:
        _refuse_links(root, folder)
        for each in way(root, folder):
            # The way to it too: renaming a folder takes along what is mounted in it.
            if each not in pinned:
                pinned.add(each)
                found.append(PathGuard("pinned", each))

    for repository in (root, *below.repositories):
        pin(repository)
        found += _guarded(repository)
    for path in below.protected[:_MOST_PROTECTED]:
        pin(os.path.dirname(path))
        found.append(PathGuard("protected", path))
    # Last, because what is mounted above a file uncovers it again.
    hidden = [] if read_env_files else _hidden(root, below)
    return found + [PathGuard("hidden", path) for path in hidden]


def hidden_files(root: str, *, read_env_files: bool) -> list[str]:
    """What is hidden in a folder that stays as it is, where nothing else needs a guard."""
    return [] if read_env_files else _hidden(root, inventory(root))


def secrets_in(folder: str) -> list[str]:
    """The files directly in a folder that hold secrets."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if is_secret(name)]
    return [path for path in paths if not os.path.islink(path)]


def _hidden(root: str, below: Inventory) -> list[str]:
    for path in (os.path.join(root, name) for name in _names(root) if is_secret(name)):
        # A link would lead to where nothing is hidden.
        _refuse_links(root, path)
    files = [*below.secrets]
    for repository in (root, *below.repositories):
        settings = (f"{repository}/{_GIT}/{name}" for name in _SETTINGS)
        files += map(spelled, filter(_tells_secrets, settings))
    if len(files) > _MOST_SECRETS:
        raise refused_env_files(_MOST_SECRETS)
    return files


def _tells_secrets(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return tells_secrets(file.read(_SETTINGS_BYTES))
    except OSError:
        return False


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def way(root: str, path: str) -> list[str]:
    """The folders from a root down to a path."""
    folders: list[str] = []
    while path != root:
        folders.append(path)
        path = os.path.dirname(path)
    return folders[::-1]


def _guarded(repository: str) -> list[PathGuard]:
    for name in PROTECTED_IN_GIT:
        # A link in it would lead to where nothing is protected.
        _refuse_links(repository, os.path.join(repository, _GIT, name))
    names = _names(repository)
    found: list[PathGuard] = []
    if folded(os.path.basename(repository)) == _GIT:
        chosen = [name for name in names if folded(name) in PROTECTED_IN_GIT]
    else:
        is_repository = _GIT in map(folded, names)
        chosen = [name for name in names if is_protected(name, in_repository=is_repository)]
    for name in chosen:
        path = os.path.join(repository, name)
        if folded(name) in _NO_LINKS or not os.path.islink(path):
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
