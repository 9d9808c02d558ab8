"""Patterns for files of the workspace. A match never lies outside it."""

import os
import re
from collections.abc import Iterator
from fnmatch import translate

_MAGIC = frozenset("*?[")
_BRACES = r"\{([^{}]*)\}"
_SKIPPED = frozenset({"node_modules", ".git"})
# A pattern such as `**/*` in a huge tree must not hang the start.
_MAX_ENTRIES = 20_000
_MAX_PATTERNS = 64


def pattern_fault(pattern: str) -> str:
    """Why a pattern cannot be used, or nothing."""
    bare = pattern.removeprefix("!")
    if not bare.strip():
        return "must not be empty"
    if os.path.isabs(bare) or bare.startswith("~"):
        return "must be relative to the workspace"
    if ".." in bare.split("/"):
        return "must not leave the workspace with `..`"
    if "\x00" in bare:
        return "holds a NUL character"
    return ""


def find_files(root: str, patterns: tuple[str, ...]) -> list[str]:
    """The files that the patterns name, sorted, each once. `!pattern` takes files away again.

    A last part without wildcards is not looked up: reading tells whether the file is there.
    """
    found: set[str] = set()
    budget = [_MAX_ENTRIES]
    for pattern in patterns:
        for plain in _alternatives(pattern.removeprefix("!")):
            parts = [part for part in plain.split("/") if part not in ("", ".")]
            matches = _walk(root, parts, budget)
            if pattern.startswith("!"):
                found.difference_update(matches)
            else:
                found.update(matches)
    return sorted(found)


def watched_folders(root: str, patterns: tuple[str, ...]) -> list[str]:
    """The folders in which a new match would appear."""
    folders: set[str] = set()
    for pattern in patterns:
        parts = [part for part in pattern.removeprefix("!").split("/") if part not in ("", ".")]
        fixed: list[str] = []
        for part in parts[:-1]:
            if not _MAGIC.isdisjoint(part) or "{" in part:
                break
            fixed.append(part)
        folders.add(os.path.join(root, *fixed))
    return sorted(folders)


def _alternatives(pattern: str) -> list[str]:
    """`a/{b,c}` as `a/b` and `a/c`."""
    done: list[str] = []
    pending = [pattern]
    while pending and len(done) + len(pending) <= _MAX_PATTERNS:
        current = pending.pop()
        found = re.search(_BRACES, current) if "{" in current else None
        if found is None:
            done.append(current)
            continue
        pending += [
            current[: found.start()] + choice + current[found.end() :]
            for choice in found[1].split(",")
        ]
    return done


def _walk(folder: str, parts: list[str], budget: list[int]) -> Iterator[str]:
    if not parts:
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        yield from _walk(folder, rest or ["*"], budget)
        for name in _entries(folder, budget):
            inner = os.path.join(folder, name)
            if name not in _SKIPPED and not os.path.islink(inner) and os.path.isdir(inner):
                yield from _walk(inner, parts, budget)
        return
    if _MAGIC.isdisjoint(part):
        names = [part]
    elif part == "*":
        names = [name for name in _entries(folder, budget) if not name.startswith(".")]
    else:
        wanted = re.compile(translate(part))
        names = [
            name
            for name in _entries(folder, budget)
            # As in a shell, a wildcard does not stand for a leading dot.
            if wanted.match(name) and (part.startswith(".") or not name.startswith("."))
        ]
    for name in names:
        inner = os.path.join(folder, name)
        if rest:
            yield from _walk(inner, rest, budget)
        else:
            yield inner


def _entries(folder: str, budget: list[int]) -> list[str]:
    if budget[0] <= 0:
        return []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        # Absent or closed to us: no match either way.
        return []
    budget[0] -= len(names)
    return names
