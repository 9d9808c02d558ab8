"""What keeps git from starting programs that only the settings of a repository name.

Engines run `git status` before anybody has said a word, and Claude Code lets its model do so
unasked. That starts whatever `core.fsmonitor`, a filter or a driver for differences names there, a
hook for the index, and what fetches an object that is missing.
Settings of the user, in the user's own files, stay as they are.
"""

import os
import re
from collections.abc import Iterator, Mapping

from switchboard.procs.trial import trial

_PATIENCE_S = 10.0
_FSMONITOR = ("core.fsmonitor", "false")
# Whoever only looks writes no index, which would start a hook.
_NO_REFRESH = ("diff.autoRefreshIndex", "false")
_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    # An object that is missing is fetched by a program that the repository names.
    "GIT_NO_LAZY_FETCH": "1",
}
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
# Of no harm, and a checkout without it would be another one.
_LARGE_FILES = re.compile(
    r"filter\.lfs\.(?:required\ntrue|"
    r"(?:clean|smudge|process)\ngit-lfs [a-z-]+(?: --skip)?(?: -- %f)?)"
)
_OF_A_REPOSITORY = frozenset({"local", "worktree"})
# What the index says of a submodule.
_SUBMODULE = "160000 "
_MOST_REPOSITORIES = 500


def with_quiet_git(env: Mapping[str, str], cwd: str = "") -> dict[str, str]:
    """The environment of an engine that works there. Blocks: git is asked for its settings."""
    settings = [_FSMONITOR, _NO_REFRESH, *(_replaced(env, cwd) if cwd else ())]
    try:
        count = int(env.get("GIT_CONFIG_COUNT", "0"))
    except ValueError:
        count = 0
    quiet = {**env, **_VARIABLES}
    for number, (name, value) in enumerate(settings, count):
        quiet[f"GIT_CONFIG_KEY_{number}"] = name
        quiet[f"GIT_CONFIG_VALUE_{number}"] = value
    quiet["GIT_CONFIG_COUNT"] = str(count + len(settings))
    return quiet


def _replaced(env: Mapping[str, str], cwd: str) -> Iterator[tuple[str, str]]:
    """The settings of a repository and its submodules that name programs, with what replaces them.

    Git looks into submodules by itself, and takes our settings along.
    """
    top = _told(env, cwd, "rev-parse", "--show-toplevel").removesuffix("\n")
    waiting = [top or cwd]
    for _ in range(_MOST_REPOSITORIES):
        if not waiting:
            return
        folder = waiting.pop()
        yield from _replaced_in(env, folder)
        if top:
            waiting += _submodules(env, folder)


def _replaced_in(env: Mapping[str, str], folder: str) -> Iterator[tuple[str, str]]:
    told = _told(env, folder, "config", "--null", "--show-scope", "--list", "--includes")
    parts = told.split("\0")
    for scope, setting in zip(parts[::2], parts[1::2], strict=False):
        if scope not in _OF_A_REPOSITORY or _LARGE_FILES.fullmatch(setting):
            continue
        name = setting.partition("\n")[0]
        for pattern, value in _IN_PLACE:
            if pattern.fullmatch(name):
                yield name, value


def _submodules(env: Mapping[str, str], folder: str) -> list[str]:
    """Those that are there, declared or not."""
    listed = _told(env, folder, "ls-files", "--stage", "-z").split("\0")
    paths = [line.partition("\t")[2] for line in listed if line.startswith(_SUBMODULE)]
    folders = [os.path.join(folder, path) for path in paths]
    return [each for each in folders if os.path.lexists(os.path.join(each, ".git"))]


def _told(env: Mapping[str, str], folder: str, *words: str) -> str:
    """What git answers; nothing where there is no git, or no repository."""
    quietly = ("git", "-C", folder, "-c", "=".join(_FSMONITOR))
    try:
        return trial((*quietly, *words), timeout_s=_PATIENCE_S, env={**env, **_VARIABLES}).stdout
    except OSError:
        # Without git nobody asks it.
        return ""
