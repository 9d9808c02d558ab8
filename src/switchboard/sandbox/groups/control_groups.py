"""Control groups: what all processes of one sandbox may use together.

They are made below our own group alone, so that whoever limits us limits them as well, and only
where that one is ours to divide: its controllers can be handed on, and nobody else is in it.
"""

import contextlib
import os
import threading
from itertools import count
from typing import NamedTuple

from switchboard.sandbox.groups.group_tree import GroupTree, KernelTree
from switchboard.sandbox.groups.left_groups import (
    LEAF,
    base_of,
    group_name,
    remove_group,
    sweep_groups,
)
from switchboard.sandbox.limits import Limits, most_memory, most_processes
from switchboard.sandbox.probe import Unusable

_CONTROLLERS = ("memory", "pids")
# Bubblewrap outside of its namespace, which does not count there either.
_WALLS = 1
# Whoever is born while we move is moved in the next round.
_ROUNDS = 20
_DELEGATE = (
    "run the daemon where its group is its own: "
    "`systemd-run --user --scope -p Delegate=yes switchboard daemon run`"
)


class _Place(NamedTuple):
    """A group that may be divided, and by what."""

    folder: str
    controllers: tuple[str, ...]
    # Whether children of it have these controllers already.
    is_ready: bool


class ChildGroup:
    """The group of one process, made when it joins. Removing it ends whoever is left in it."""

    def __init__(self, tree: GroupTree, folder: str, values: tuple[tuple[str, str], ...]) -> None:
        self._tree = tree
        self._folder = folder
        self._values = values
        self._is_made = False
        self._is_short_of_memory = False

    def join(self, pid: int) -> None:
        """Limit a process and everything that will come of it. Raises a fault."""
        try:
            self._join(pid)
        except OSError as error:
            why = f"its control group could not be made ({error.strerror})"
            raise Unusable(
                why=why, fix="restart the daemon, or look at `doctor`"
            ).fault() from error

    def _join(self, pid: int) -> None:
        self._tree.make(self._folder)
        self._is_made = True
        for name, value in self._values:
            self._tree.write(self._folder, name, value)
        with contextlib.suppress(OSError):
            # Nothing of it goes on with a part missing. Older kernels do not have this one.
            self._tree.write(self._folder, "memory.oom.group", "1")
        with contextlib.suppress(OSError):
            # Without it, which is so where there is no swap, nothing is swapped.
            self._tree.write(self._folder, "memory.swap.max", "0")
        self._tree.write(self._folder, "cgroup.procs", str(pid))

    @property
    def is_short_of_memory(self) -> bool:
        """Whether the kernel ended something in it because all together used too much."""
        if self._is_made and not self._is_short_of_memory:
            with contextlib.suppress(OSError):
                events = self._tree.read(self._folder, "memory.events").splitlines()
                killed = next((each for each in events if each.startswith("oom_kill ")), "0")
                self._is_short_of_memory = killed.split()[-1] != "0"
        return self._is_short_of_memory

    def remove(self) -> None:
        """Blocks for a moment. What cannot be removed now is swept by the next daemon."""
        if self._is_made:
            _ = self.is_short_of_memory
            self._is_made = False
            remove_group(self._tree, self._folder)


class ControlGroups:
    """Gives confined processes groups of their own, where there is something to make them of."""

    def __init__(self, tree: GroupTree | None = None) -> None:
        self._tree: GroupTree = tree or KernelTree()
        self._lock = threading.Lock()
        self._claimed: _Place | Unusable | None = None
        self._numbers = count(1)

    def look(self) -> tuple[str, ...] | Unusable:
        """What can be limited for all processes of a sandbox together. Changes nothing."""
        found = self._found()
        return found if isinstance(found, Unusable) else found.controllers

    def group(self, limits: Limits) -> ChildGroup | None:
        """What to put a process into, if these limits and this machine call for it."""
        memory, processes = most_memory(limits), most_processes(limits)
        if memory is None and processes is None:
            return None
        with self._lock:
            if self._claimed is None:
                self._claimed = self._claim()
        if isinstance(place := self._claimed, Unusable):
            return None
        values: list[tuple[str, str]] = []
        if memory is not None and "memory" in place.controllers:
            values.append(("memory.max", str(memory)))
        if processes is not None and "pids" in place.controllers:
            values.append(("pids.max", str(processes + _WALLS)))
        folder = os.path.join(place.folder, group_name(next(self._numbers)))
        return ChildGroup(self._tree, folder, tuple(values))

    def _found(self) -> _Place | Unusable:
        tree = self._tree
        try:
            folder = base_of(tree)
            there = tree.read(folder, "cgroup.controllers").split()
            controllers = tuple(each for each in _CONTROLLERS if each in there)
            if not controllers:
                why = "our control group has neither the memory nor the pids controller"
                return Unusable(why=why, fix=_DELEGATE)
            if not tree.may_divide(folder):
                why = "our control group belongs to somebody else"
                return Unusable(why=why, fix=_DELEGATE)
            handed_on = tree.read(folder, "cgroup.subtree_control").split()
            is_ready = set(controllers) <= set(handed_on)
            if not is_ready and _strangers(tree, folder):
                why = "our control group has other processes in it"
                return Unusable(why=why, fix=_DELEGATE)
        except OSError:
            return Unusable(why="there are no control groups of version 2 here", fix=_DELEGATE)
        return _Place(folder, controllers, is_ready)

    def _claim(self) -> _Place | Unusable:
        found = self._found()
        if isinstance(found, Unusable):
            return found
        if not found.is_ready:
            wanted = " ".join(f"+{each}" for each in found.controllers)
            try:
                _step_aside(self._tree, found.folder)
                self._tree.write(found.folder, "cgroup.subtree_control", wanted)
            except OSError as error:
                why = f"our control group could not be divided ({error.strerror})"
                return Unusable(why=why, fix=_DELEGATE)
        sweep_groups(self._tree)
        return found


def _is_root(tree: GroupTree, folder: str) -> bool:
    """The one group that may both have processes and hand controllers on."""
    return "cgroup.type" not in tree.names(folder)


def _processes(tree: GroupTree, folder: str) -> frozenset[int]:
    return frozenset(map(int, tree.read(folder, "cgroup.procs").split()))


def _strangers(tree: GroupTree, folder: str) -> bool:
    if _is_root(tree, folder):
        return False
    return not _processes(tree, folder) <= tree.members()


def _step_aside(tree: GroupTree, folder: str) -> None:
    """Go, with everything that came of us, where processes may be. Raises OSError."""
    if _is_root(tree, folder):
        return
    leaf = os.path.join(folder, LEAF)
    with contextlib.suppress(FileExistsError):
        tree.make(leaf)
    for _ in range(_ROUNDS):
        found = _processes(tree, folder)
        if not found:
            return
        for pid in found:
            # It may have ended.
            with contextlib.suppress(ProcessLookupError):
                tree.write(leaf, "cgroup.procs", str(pid))
