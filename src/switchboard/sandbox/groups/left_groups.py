"""Groups of children that were left behind by whoever was killed. Light: every daemon looks."""

import contextlib
import os
import select
import time
from collections.abc import Iterator

from switchboard.sandbox.groups.group_tree import GroupTree, KernelTree
from switchkit.processes import began

# Where a daemon goes itself: a group that hands controllers on can have no processes of its own.
LEAF = "switchboard-daemon"
_PREFIX = "switchboard-child"
_REMOVAL_S = 1.0
_PAUSE_S = 0.01


def base_of(tree: GroupTree) -> str:
    """The group that ours are made in. Raises OSError."""
    folder = tree.own()
    return os.path.dirname(folder) if os.path.basename(folder) == LEAF else folder


def group_name(number: int) -> str:
    """A name for a group of ours, which says whose it is: numbers are of a namespace."""
    return f"{_PREFIX}.{_namespace()}.{os.getpid()}.{began(os.getpid())}.{number}"


def sweep_groups(tree: GroupTree | None = None) -> None:
    """Remove the groups of those who have ended, with whoever is in them. Blocks."""
    tree = tree or KernelTree()
    with contextlib.suppress(OSError):
        folder = base_of(tree)
        for name in _left_behind(tree.names(folder)):
            remove_group(tree, os.path.join(folder, name))


def _namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def _left_behind(names: list[str]) -> Iterator[str]:
    here = _namespace()
    for name in names:
        if not name.startswith(f"{_PREFIX}."):
            continue
        try:
            namespace, pid, since, _ = map(int, name.split(".")[1:])
        except ValueError:
            # No name of ours.
            continue
        if namespace == here and began(pid) != since:
            yield name


def remove_group(tree: GroupTree, folder: str) -> None:
    """End whoever is in it. One that cannot be removed now is for the next daemon. Blocks."""
    with contextlib.suppress(OSError):
        tree.write(folder, "cgroup.kill", "1")
    until = time.monotonic() + _REMOVAL_S
    while True:
        try:
            tree.remove(folder)
        except FileNotFoundError:
            return
        except OSError:
            # Whoever was killed takes a moment to go.
            if time.monotonic() >= until:
                return
            select.select([], [], [], _PAUSE_S)
        else:
            return
