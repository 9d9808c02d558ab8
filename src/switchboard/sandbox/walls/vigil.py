"""Watches the guards of a sandbox that runs.

A mount belongs to a file, not to a name. When the file is replaced on the host, by an editor that
saves or by git, the new one has no guard. And what is mounted on the host while a sandbox runs
appears in it too, as writable as it is outside. In both cases the sandbox cannot go on.
"""

import contextlib
import os
import select
import sys
import time
from collections.abc import Iterable, Sequence

from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.sandbox.paths import is_within
from switchboard.sandbox.refusals import late_mount, lost_guard, refused_change
from switchboard.sandbox.walls.mounts import MeantMount, MountPlan
from switchboard.sandbox.walls.walk import Inode, Walk, host
from switchkit.platform.files import HANDLE_ONLY, watch_folders

# Made anew inside, with mounts of their own.
_OWN = ("/proc", "/dev")
_TABLE = "mountinfo"
_READINGS = 3
# A moment, but for a machine that has much else to do.
_ENTERING_S = 20.0
_PAUSE_S = 0.0002
_CHANGED_BYTES = 1 << 16
# Fields of a line in a table of mounts.
_PLACE, _OPTIONS = 4, 5


class _Guarded(Struct, frozen=True):
    """One name in a folder, and what it stood for when the sandbox was built."""

    folder: int
    name: str
    found: Inode
    # The place of its mount, and how people know it.
    place: str
    shown: str


class _Mounted(Struct, frozen=True):
    """One line of a table of mounts."""

    number: int
    place: str
    is_writable: bool


class MountVigil:
    """The watch over one sandbox. Holds a few descriptors until it is closed."""

    def __init__(self, guarded: Sequence[_Guarded], open_: Sequence[str]) -> None:
        self._guarded = guarded
        # Where mounts that can be written are no news.
        self._open = tuple(open_)
        folders = list(dict.fromkeys(each.folder for each in guarded))
        self._files = list(folders)
        self._numbers: dict[int, str] = {}
        self._process = -1
        self._changes = -1
        # Of names in folders, and of the table of mounts.
        self.handle: int | None = None
        self.bell: int | None = None
        # Too many may be watched on this machine already, or one may not be read.
        with contextlib.suppress(OSError):
            self._changes = watch_folders(folders)
            self._files.append(self._changes)

    def begin(self, pid: int) -> None:
        """Watch the sandbox with this process in it, whose mounts are made.

        Raises a fault or OSError.
        """
        self._process = os.open(f"/proc/{pid}", HANDLE_ONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._files.append(self._process)
        shown = {each.place: each.shown for each in self._guarded}
        mounted = self._entered({*shown, *self._open})
        # Renaming a folder changes the places, and not the numbers.
        self._numbers = {each.number: shown[each.place] for each in mounted if each.place in shown}
        if self._changes >= 0:
            self.handle, self.bell = self._changes, self._bell()

    def _entered(self, places: set[str]) -> Sequence[_Mounted]:
        """The table of mounts once the sandbox has entered its root; nothing if it has ended.

        Meanwhile the table may be short of lines, or have none, and what has no number then would
        be guarded by nobody later.
        """
        until = time.monotonic() + _ENTERING_S
        while True:
            mounted = _mounted(self._process)
            if mounted is None:
                return ()
            missing = places - {each.place for each in mounted}
            if not missing:
                return mounted
            if (lost := self._replaced()) is not None:
                raise refused_change(lost.place)
            if time.monotonic() > until:
                raise refused_change(min(missing))
            select.select([], [], [], _PAUSE_S)

    def look(self) -> Fault | None:
        """Why the sandbox cannot go on, if it cannot."""
        self._drain()
        lost = self._replaced()
        return self._change() if lost is None else lost_guard(lost.shown)

    def _replaced(self) -> _Guarded | None:
        """What stands for something else by now."""
        for each in self._guarded:
            try:
                found = os.stat(each.name, dir_fd=each.folder, follow_symlinks=False)
            except OSError:
                return each
            if (found.st_dev, found.st_ino) != (each.found.device, each.found.number):
                return each
        return None

    def _change(self) -> Fault | None:
        """What changed in the table of mounts that must not change.

        One that is read while the sandbox ends may be short of lines, so it is read again.
        """
        found = None
        for _ in range(_READINGS):
            if (found := self._difference(_mounted(self._process))) is None:
                return None
        return found

    def _difference(self, mounted: Sequence[_Mounted] | None) -> Fault | None:
        if mounted is None:
            return None
        # The number of a file that was removed is soon that of another; the mount went with it.
        for number in self._numbers.keys() - {each.number for each in mounted}:
            return lost_guard(self._numbers[number])
        for each in mounted:
            # Until the last step of its start the root that was left lies above the new one.
            if each.is_writable and each.place != os.sep and not self._is_open(each.place):
                return late_mount(each.place)
        return None

    def _is_open(self, place: str) -> bool:
        return any(is_within(place, known) for known in (*self._open, *_OWN))

    def close(self) -> None:
        """Watch no longer. The kernel takes its time for that."""
        for handle in self._files:
            os.close(handle)
        self._files.clear()

    def _bell(self) -> int:
        assert sys.platform == "linux"
        events = select.epoll()
        # The table of mounts can always be read; that it changed is told beside, and once.
        table = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._process)
        events.register(table, select.EPOLLPRI)
        handle = os.dup(events.fileno())
        events.close()
        self._files += [table, handle]
        return handle

    def _drain(self) -> None:
        if self.handle is not None:
            with contextlib.suppress(BlockingIOError):
                while len(os.read(self._changes, _CHANGED_BYTES)) > _CHANGED_BYTES // 2:
                    pass


def watched(plan: MountPlan) -> MountVigil:
    """Begin to watch what a sandbox is to guard. Raises a fault or OSError."""
    mounts = plan.seen()
    shown = [each.mount.place for each in mounts if each.mount.kind == "writable"]
    guarded: list[_Guarded] = []
    folders: dict[str, int] = {}
    try:
        with host() as walk:
            for each in _guards(mounts):
                place = each.mount.place
                # On the host: what lies behind a link there is mounted at the place of the link.
                folder, name = os.path.split(each.mount.meant)
                if folder not in folders:
                    folders[folder] = os.dup(_known(walk, folder))
                assert each.found is not None
                known = _as_seen(place, shown)
                guarded.append(_Guarded(folders[folder], name, each.found, place, known))
    except BaseException:
        for handle in folders.values():
            os.close(handle)
        raise
    # Below these nothing of the host shows, or everything may be written anyway.
    covered = ("writable", "pinned", "empty", "hidden")
    return MountVigil(guarded, [each.mount.place for each in mounts if each.mount.kind in covered])


def _known(walk: Walk, folder: str) -> int:
    try:
        return walk.handle(folder)
    except OSError as error:
        raise refused_change(folder) from error


def _guards(mounts: Sequence[MeantMount]) -> Iterable[MeantMount]:
    """Those whose loss would open something.

    A place in a folder of the sandbox's own cannot be replaced from outside, and what is read-only
    in what is read-only anyway needs no guard.
    """
    kinds = {each.mount.place: each.mount.kind for each in mounts}
    for each in mounts:
        above = os.path.dirname(each.mount.place)
        while above not in kinds and above != os.sep:
            above = os.path.dirname(above)
        around = kinds.get(above, "read-only")
        match each.mount.kind:
            case "hidden" if around != "empty":
                yield each
            case "read-only" | "pinned" if around in {"writable", "pinned"}:
                yield each
            case _:
                pass


def _as_seen(path: str, roots: Sequence[str]) -> str:
    """A path as people know it: below the folder that the program runs in."""
    for root in roots:
        if is_within(path, root):
            return os.path.relpath(path, root)
    return path


def _mounted(process: int) -> list[_Mounted] | None:
    """The table of mounts of a process as it is now; nothing if the process has ended."""
    # Opened anew: what it shows depends on the root that the process had when it was opened.
    try:
        table = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC, dir_fd=process)
        with open(table, "rb") as file:
            raw = file.read()
    except OSError:
        return None
    found: list[_Mounted] = []
    for line in raw.splitlines():
        fields = line.split(None, _OPTIONS + 1)
        place = fields[_PLACE]
        if b"\\" in place:
            # Blanks, and what else would part the fields, are written as octal numbers.
            place = place.decode("unicode_escape").encode("latin-1")
        is_writable = b"rw" in fields[_OPTIONS].split(b",")
        found.append(_Mounted(int(fields[0]), os.fsdecode(place), is_writable))
    return found
