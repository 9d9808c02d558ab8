"""Which worktrees the arguments of a call lead to, as far as they are paths.

A text counts if it is a path as a whole. What stands inside of a longer text, such as a command, is
the server's own affair.
"""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from switchboard.children.trees.worktrees import GitTree, Repository
from switchkit.platform.paths import true_path

_FILE_URL = "file://"
# The kernel takes no longer one.
_MAX_PATH = 4_096
# Whoever sends more of them is not looked through to the end.
_MAX_PATHS = 4_096


class PathArgument(Struct, frozen=True):
    """A path among the arguments that lies in a worktree."""

    # The argument that it stands in, for people.
    name: str
    tree: GitTree
    # Whether it means the same wherever a server stands.
    is_absolute: bool


def path_arguments(
    arguments: Raw, repository: Repository, *, stands_in: str, user_home: str
) -> tuple[PathArgument, ...]:
    """The paths that lie in a worktree of the repository; relative ones from where a server is.

    Where a path is written to be counts, not where a link in it leads: worktrees share files with
    each other by links. Only one that is written to be in none of them is followed.
    """
    found: list[PathArgument] = []
    for name, path in islice(_paths(arguments, user_home), _MAX_PATHS):
        is_absolute = os.path.isabs(path)
        if not is_absolute and not stands_in:
            continue
        written = os.path.normpath(os.path.join(stands_in, path))
        tree = repository.tree_of(written)
        if tree is None:
            tree = repository.tree_of(true_path(written))
        if tree is not None:
            found.append(PathArgument(name, tree, is_absolute))
    return tuple(found)


def has_paths(arguments: Raw) -> bool:
    """Whether anything among the arguments could be a path: many calls have none."""
    raw = bytes(arguments)
    # A slash may be written by its number.
    return b"/" in raw or b"\\u" in raw


def path_from_url(url: str) -> str:
    """The path of a `file:` address; nothing for any other, or for one of another machine."""
    if not url.startswith(_FILE_URL):
        return ""
    # Few arguments and few clients have one.
    from urllib.parse import unquote  # noqa: PLC0415

    path = unquote(url.removeprefix(_FILE_URL).removeprefix("localhost"))
    return path if path.startswith("/") and "\0" not in path else ""


def _paths(arguments: Raw, user_home: str) -> Iterator[tuple[str, str]]:
    """The paths among the arguments as they are written, each with the argument it stands in."""
    for name, text in _texts(_read(arguments)):
        path = _as_path(text, user_home)
        if path is not None:
            yield name, path


def _as_path(text: str, user_home: str) -> str | None:
    if len(text) > _MAX_PATH or "\0" in text or "\n" in text:
        return None
    if text.startswith(_FILE_URL):
        return path_from_url(text) or None
    if text.startswith("~/"):
        return user_home + text[1:]
    # A single name is a name: of a branch, say, which may have a folder of its own.
    return text if "/" in text and "://" not in text else None


def _read(arguments: Raw) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, RecursionError):
        # Whoever runs the call says what is wrong with them.
        return None


def _texts(arguments: Any) -> Iterator[tuple[str, str]]:
    """Every text, in order, and every name in what an argument holds: some list files by path."""
    # Not by recursion: clients nest things more deeply than Python likes.
    left: list[tuple[str, Any]] = [("", arguments)]
    while left:
        name, value = left.pop()
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, list):
            left.extend((name, inner) for inner in reversed(cast("list[Any]", value)))
        elif isinstance(value, dict):
            for key, inner in reversed(cast("dict[str, Any]", value).items()):
                left.append((name or key, inner))
                if name:
                    left.append((name, key))
