"""What is opened, path by path.

Landlock only ever opens: a right on a folder holds for all that is in it, and nothing in there can
be taken out again. So a folder that holds what is to stay as it is, or hidden, is not opened as a
whole. Its entries are, one by one, and nothing can be made, renamed or removed beside them.
"""

import os
from collections.abc import Iterator, Mapping

from switchboard.sandbox.landlock.rights import CHANGE, DEVICE, LIST, READ
from switchboard.sandbox.masks import SCRATCH
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.refusals import refused_root
from switchboard.sandbox.repositories import guards, hidden_files, secrets_in
from switchboard.sandbox.roots import Roots
from switchboard.sandbox.walls.inventory import inventory

DEVICES = tuple((f"/dev/{name}", DEVICE) for name in ("null", "zero", "full", "random", "urandom"))
# Of other processes it shows what everybody may know: the kernel keeps the rest from whoever is
# locked in, root too.
_PROCESSES = "/proc"
_MOST = 20_000


class _Marks:
    """The paths that are opened less than what they lie in, by the rights that are left."""

    def __init__(self) -> None:
        self._left: dict[str, int] = {}
        self._above: set[str] = set()

    def add(self, path: str, rights: int) -> None:
        self._left[path] = self._left.get(path, rights) & rights
        while (path := os.path.dirname(path)) not in self._above:
            self._above.add(path)

    def holds(self, path: str) -> bool:
        """Whether there is one below a path."""
        return path in self._above

    def left(self, path: str, rights: int) -> int:
        return self._left.get(path, rights) & rights


def grants(roots: Roots, policy: SandboxPolicy, scratch: str) -> list[tuple[str, int]]:
    """Each path that is opened, with its rights. Raises a fault."""
    marks = _marks(roots, policy)
    opened: dict[str, int] = dict.fromkeys(_shown(roots), READ)
    for path, rights in _asked_for(roots).items():
        opened[path] = opened.get(path, 0) | rights
    found: dict[str, int] = {}
    for root, rights in opened.items():
        for path, each in _parts(root, rights, marks):
            found[path] = found.get(path, 0) | each
            if len(found) > _MOST:
                raise refused_root(
                    "too many files lie beside what is to be guarded",
                    "open a smaller folder, or let bubblewrap work here: `switchboard doctor`",
                    root,
                )
    found |= {_PROCESSES: READ, scratch: CHANGE}
    return [*found.items(), *DEVICES]


def _shown(roots: Roots) -> tuple[str, ...]:
    return () if roots.ground is None else roots.ground.folders


def _asked_for(roots: Roots) -> Mapping[str, int]:
    found = {real: READ for _, real in roots.readable}
    found |= dict.fromkeys(roots.unchanging, READ)
    return found | dict.fromkeys((*roots.writable, *roots.caches), CHANGE)


def _marks(roots: Roots, policy: SandboxPolicy) -> _Marks:
    marks = _Marks()
    for path in (*roots.hidden, *roots.homes, *SCRATCH):
        marks.add(path, 0)
    asked_for = frozenset(map(os.path.realpath, policy.read_roots))
    for path in roots.writable:
        for guard in guards(path, read_env_files=policy.read_env_files):
            if guard.kind != "pinned":
                marks.add(guard.path, READ if guard.kind == "protected" else 0)
    if policy.read_env_files:
        return marks
    for path in roots.unchanging:
        _hide(marks, hidden_files(path, read_env_files=False))
    for _, path in roots.readable:
        is_asked = path in asked_for and os.path.isdir(path)
        _hide(marks, inventory(path).secrets if is_asked else secrets_in(path))
    return marks


def _hide(marks: _Marks, paths: list[str]) -> None:
    for path in paths:
        marks.add(path, 0)


def _parts(path: str, rights: int, marks: _Marks) -> Iterator[tuple[str, int]]:
    """What has to be opened of a path that is opened as far as its marks allow."""
    if not marks.holds(path):
        yield path, rights
        return
    # Names may be seen, and no more than that.
    yield path, LIST
    try:
        with os.scandir(path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        # A link needs no right; what it leads to has its own.
        if not entry.is_symlink() and (left := marks.left(entry.path, rights)):
            yield from _parts(entry.path, left, marks)
