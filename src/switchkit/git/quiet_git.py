"""What keeps git from starting programs that only the settings of a repository name.

A `git status` starts whatever `core.fsmonitor`, a filter or a driver for differences names there, a
hook for the index, and what fetches an object that is missing.
Settings of the user, in the user's own files, stay as they are.
"""

import os
import re
from collections.abc import Callable, Iterator

# Asks git in a folder with these words; nothing where there is no git, or no repository.
Told = Callable[..., str]

# What a repository may not say, by what is said in its place. An empty filter changes nothing.
_IN_PLACE = (
    (re.compile(r"filter\..*\.(?:clean|smudge|process)", re.DOTALL), ""),
    (re.compile(r"filter\..*\.required", re.DOTALL), "false"),
    (re.compile(r"diff\..*\.textconv", re.DOTALL), "cat"),
    # Nothing stands for what is built in: these fail instead.
    (re.compile(r"diff\.external|diff\..*\.command", re.DOTALL), "false"),
    (re.compile(r"log\.showsignature"), "false"),
    # For a git that does not know the variable.
    (re.compile(r"remote\..*\.promisor", re.DOTALL), "false"),
)
# Of no harm, and a checkout without them would be another one.
_HARMLESS = re.compile(
    r"filter\.lfs\.(?:required\ntrue|"
    r"(?:clean|smudge|process)\ngit-lfs [a-z-]+(?: --skip)?(?: -- %f)?)"
    r"|filter\.git-crypt\.(?:required\ntrue|(?:clean|smudge)\n\"?git-crypt\"? (?:clean|smudge))"
    r"|diff\.git-crypt\.textconv\n\"?git-crypt\"? diff"
)
_OF_A_REPOSITORY = frozenset({"local", "worktree"})
# What the index says of a submodule.
_SUBMODULE = "160000 "
_MOST_REPOSITORIES = 500


def replaced(told: Told, cwd: str) -> Iterator[tuple[str, str]]:
    """The settings of a repository and its submodules that name programs, with what replaces them.

    Git looks into submodules by itself, and takes our settings along.
    """
    top = told(cwd, "rev-parse", "--show-toplevel").removesuffix("\n")
    waiting = [top or cwd]
    for _ in range(_MOST_REPOSITORIES):
        if not waiting:
            return
        folder = waiting.pop()
        yield from _replaced_in(told, folder)
        if top:
            waiting += _submodules(told, folder)


def _replaced_in(told: Told, folder: str) -> Iterator[tuple[str, str]]:
    listed = told(folder, "config", "--null", "--show-scope", "--list", "--includes")
    parts = listed.split("\0")
    for scope, setting in zip(parts[::2], parts[1::2], strict=False):
        if scope not in _OF_A_REPOSITORY or _HARMLESS.fullmatch(setting):
            continue
        name = setting.partition("\n")[0]
        for pattern, value in _IN_PLACE:
            if pattern.fullmatch(name):
                yield name, value


def _submodules(told: Told, folder: str) -> list[str]:
    """Those that are there, declared or not."""
    listed = told(folder, "ls-files", "--stage", "-z").split("\0")
    paths = [line.partition("\t")[2] for line in listed if line.startswith(_SUBMODULE)]
    folders = [os.path.join(folder, path) for path in paths]
    return [each for each in folders if os.path.lexists(os.path.join(each, ".git"))]
