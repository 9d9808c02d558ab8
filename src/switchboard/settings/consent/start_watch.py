"""Notices that what was looked at was exchanged while a program started, also if it was put back.

A fingerprint is of what the names of a command line led to at one moment; the program opens the
same names later. What was exchanged in between shows: a file whose content or name was changed has
another time of change, which only the kernel sets, and the kernel tells of every name in a watched
folder that came or went.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from threading import Event

from switchboard.children.schema import Seal, ServerEntry
from switchboard.settings.consent.digests import identity, tree_files
from switchboard.settings.consent.folder_state import state_files
from switchboard.settings.consent.looking import Unbound, one_look
from switchboard.settings.consent.named_files import named_by
from switchkit.git.ground import ground_of
from switchkit.platform.files import renamed_in, watch_folders

# Kernels count time in steps of up to so much: a file that was changed within the last step could
# be changed again and show the same time.
_STEP_S = 0.02
_MOST_STEPS = 5
_MOST_LINKS = 40
_MOST_FOLDERS = 256
# Runners write them anew at each start.
_REWRITTEN = (
    *("package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lockb", "bun.lock", "uv.lock"),
    *("deno.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pixi.lock", "Gemfile.lock"),
    "flake.lock",
)


class StartWatch:
    """From before the last look at some files until a program has read them."""

    def __init__(self, paths: Iterable[str], root: str) -> None:
        """Only names below `root` are watched: whoever can change others needs no exchange."""
        self._root = root.rstrip(os.sep) + os.sep
        # What each folder is to keep: names that lead on, and names that lead nowhere so far.
        self._names: dict[str, set[str]] = {}
        self._files: dict[str, str] = {}
        for path in paths:
            self._note(path)
        self._handle = self._watch()
        # After the watch began: what happens from here on is told.
        self._settle()

    def _note(self, path: str) -> None:
        """Walk a path as the kernel does, and note every name on it."""
        at, left, links = os.sep, path.split(os.sep)[::-1], 0
        while left:
            name = left.pop()
            if name in ("", "."):
                continue
            if name == "..":
                at = os.path.dirname(at)
                continue
            if (at.rstrip(os.sep) + os.sep).startswith(self._root):
                names = self._names.setdefault(at, set())
                names.add(name)
            at = os.path.join(at, name)
            try:
                about = os.lstat(at)
            except (OSError, ValueError):
                return
            if stat.S_ISLNK(about.st_mode):
                links += 1
                if links > _MOST_LINKS:
                    return
                target = os.readlink(at)
                left += target.split(os.sep)[::-1]
                at = os.sep if os.path.isabs(target) else os.path.dirname(at)
            elif not stat.S_ISDIR(about.st_mode):
                # What is empty runs nothing: servers empty their logs, which may be named too.
                if not left and stat.S_ISREG(about.st_mode) and about.st_size:
                    self._files[at] = ""
                return

    def _watch(self) -> int | None:
        """What tells of names. None where the system cannot: then files alone are compared."""
        folders: list[int] = []
        try:
            for folder in list(self._names)[:_MOST_FOLDERS]:
                # One that has gone meanwhile takes its files with it.
                with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                    folders.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            return watch_folders(folders) if folders else None
        except OSError:
            return None
        finally:
            for each in folders:
                os.close(each)

    def _settle(self) -> None:
        """Note what the files are, once the youngest change of them is long enough ago."""
        for _ in range(_MOST_STEPS):
            young = (time.time() - _STEP_S) * 1e9
            found = {path: _about(path) for path in self._files}
            self._files = {path: identity(about) for path, about in found.items() if about}
            if not any(about and about.st_ctime_ns > young for about in found.values()):
                return
            Event().wait(_STEP_S)

    def moved(self) -> bool:
        """Whether anything that was looked at was changed since, whatever it is now."""
        # Names first: a file that was put back in between has another time of change.
        return self._names_moved() or any(
            (about := _about(path)) is None or identity(about) != seen
            for path, seen in self._files.items()
        )

    def _names_moved(self) -> bool:
        if self._handle is None:
            return False
        known = {name for names in self._names.values() for name in names}
        told = renamed_in(self._handle)
        return told is None or not told.isdisjoint(known)

    def close(self) -> None:
        """Watch no longer."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def start_watch(entry: ServerEntry, workspace: str) -> StartWatch | None:
    """Watch what a trusted server of a workspace is made of; nothing where nothing was looked at.

    To be begun before the last look, and to be asked once the server has answered.
    """
    seal = entry.seal
    if not entry.fingerprint or seal is None or not seal.binding or seal.is_dev:
        return None
    paths: list[str] = []
    # What is too much to be looked at was never trusted: the last look says so.
    with one_look(), suppress(Unbound):
        paths.extend(_paths(seal, workspace))
    return StartWatch(paths, ground_of(workspace))


def _paths(seal: Seal, workspace: str) -> Iterator[str]:
    named = named_by(seal, workspace)
    for _, path in named.files:
        if "\0" not in path and not path.endswith(_REWRITTEN):
            yield path
    for _, folder in named.folders:
        yield from tree_files(folder, with_bytecode=not seal.shuts_bytecode)
    if named.why_whole:
        root = ground_of(workspace)
        yield from (path for path in state_files(root) if path not in named.left_out)


def _about(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
