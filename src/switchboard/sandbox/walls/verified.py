"""The look at the mounts of a sandbox before its program runs: they have to be those meant.

Between the plan and the mounts others may exchange files and folders, and bubblewrap goes by names.
So it waits after the last mount, and is let go once every place inside was looked at from outside.
"""

import contextlib
import json
import os
import resource
import select
import socket
import stat
import time
from collections.abc import Mapping, Sequence
from io import FileIO

from switchboard.sandbox.paths import is_within
from switchboard.sandbox.refusals import refused_change
from switchboard.sandbox.walls.mounts import MeantMount, MountPlan
from switchboard.sandbox.walls.vigil import MountVigil, watched
from switchboard.sandbox.walls.walk import Inode, Walk
from switchkit.platform.files import HANDLE_ONLY
from switchkit.platform.limits import lower_limit

# A folder of its own in every sandbox.
_MARK = "/run/.mounted"
# Where bubblewrap builds the new root before it enters it.
_UNFINISHED = "newroot"
_PATIENCE_S = 30.0
_PAUSE_S = 0.0002
_NULL = os.makedev(1, 3)


class Checkpoint:
    """Where bubblewrap waits for us between its mounts and the program."""

    def __init__(self, plan: MountPlan, processes: int | None = None) -> None:
        self._plan = plan
        self._processes = processes
        # Read to its end, which it has at once, and closed, after the last mount.
        self._mounted, mark = socket.socketpair()
        self._mounted.shutdown(socket.SHUT_WR)
        self._mounted.settimeout(_PATIENCE_S)
        told, telling = os.pipe()
        waiting, letting = os.pipe()
        self._told = FileIO(told)
        self._gate = FileIO(letting, "w")
        self.inherits = (FileIO(mark.detach()), FileIO(telling, "w"), FileIO(waiting))

    def arguments(self) -> list[str]:
        """What bubblewrap is told, after everything that it is to mount."""
        mark, telling, waiting = (str(file.fileno()) for file in self.inherits)
        return ["--file", mark, _MARK, "--info-fd", telling, "--block-fd", waiting]

    def pass_on(self) -> MountVigil | None:
        """Wait for the mounts, look at them, and let the program begin.

        Nothing is returned where bubblewrap ended by itself. Raises a fault or OSError; what was
        started must then be ended before this is closed, since its end lets the program begin.
        """
        # While bubblewrap mounts, on the other processor.
        vigil = watched(self._plan)
        try:
            pid = _child(self._told)
            self._mounted.recv(1)
            if pid is None or (root := _root_of(pid)) is None:
                vigil.close()
                return None
            with Walk(root) as walk:
                _check(walk, self._plan)
            vigil.begin(pid)
            if self._processes is not None:
                # Counted in its namespace from now on: before, it counts all of the user's.
                lower_limit(pid, resource.RLIMIT_NPROC, self._processes)
            self._gate.write(b"\0")
        except BaseException:
            vigil.close()
            raise
        return vigil

    def close(self) -> None:
        """Close what only the start needed."""
        self._mounted.close()
        self._told.close()
        self._gate.close()


def _child(told: FileIO) -> int | None:
    text = told.readall()
    try:
        return int(json.loads(text)["child-pid"])
    except (ValueError, KeyError, TypeError):
        return None


def _root_of(pid: int) -> int | None:
    """The root of what is being built, as a descriptor; nothing if it has ended. Raises OSError."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            root = os.open(f"/proc/{pid}/root", HANDLE_ONLY | os.O_CLOEXEC)
        except (FileNotFoundError, ProcessLookupError):
            return None
        try:
            inner = os.open(_UNFINISHED, HANDLE_ONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
        except FileNotFoundError:
            inner = -1
        if inner >= 0:
            os.close(root)
            root = inner
        # In between the two it stands in neither.
        with contextlib.suppress(OSError):
            os.stat(_MARK.lstrip(os.sep), dir_fd=root, follow_symlinks=False)
            return root
        os.close(root)
        if time.monotonic() > until:
            raise refused_change(_MARK)
        select.select([], [], [], _PAUSE_S)


def _check(walk: Walk, plan: MountPlan) -> None:
    """Raise a fault unless every mount is there, and is the one that was meant."""
    mounts = plan.seen()
    # Inside of these a folder has to be the same as outside; elsewhere it is of the sandbox's own.
    shown = [each.mount.place for each in mounts if each.mount.source == each.mount.place]
    checked = {os.sep}
    for each in mounts:
        place = each.mount.place
        try:
            _check_way(walk, os.path.dirname(place), shown, plan.ways, checked)
            fits = _fits(walk, each)
        except OSError as error:
            raise refused_change(place) from error
        if not fits:
            raise refused_change(place)


def _check_way(
    walk: Walk,
    folder: str,
    shown: Sequence[str],
    ways: Mapping[str, Inode],
    checked: set[str],
) -> None:
    """The folders above a mask as well: what is hidden in another one hides nothing."""
    while folder not in checked:
        checked.add(folder)
        expected = ways.get(folder)
        if expected is not None and any(is_within(folder, each) for each in shown):
            inside = walk.found(folder)
            if (inside.device, inside.number) != (expected.device, expected.number):
                raise refused_change(folder)
        folder = os.path.dirname(folder)


def _fits(walk: Walk, meant: MeantMount) -> bool:
    found, place = meant.found, meant.mount.place
    handle = walk.handle(place)
    status = os.fstat(handle)
    if meant.mount.kind == "empty" or (meant.mount.kind == "hidden" and found and found.is_folder):
        # A folder that was made to look like it lies on the disk of the one around it.
        is_own = status.st_dev != os.fstat(walk.handle(os.path.dirname(place))).st_dev
        is_closed = meant.mount.kind == "empty" or not stat.S_IMODE(status.st_mode)
        return stat.S_ISDIR(status.st_mode) and is_own and is_closed
    if meant.mount.kind == "hidden":
        # Nobody who could put one there has to.
        return stat.S_ISCHR(status.st_mode) and status.st_rdev == _NULL
    if found is None or (found.device, found.number) != (status.st_dev, status.st_ino):
        return False
    match meant.mount.kind:
        case "read-only":
            return bool(os.fstatvfs(handle).f_flag & os.ST_RDONLY)
        case "pinned":
            return walk.mount(place) != walk.mount(os.path.dirname(place))
        case _:
            return True
