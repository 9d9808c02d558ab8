"""What is mounted where in a sandbox, and which file or folder is meant by it."""

import errno
import os
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from switchboard.sandbox.refusals import refused_change, refused_link
from switchboard.sandbox.walls.walk import Inode, host

MountKind = Literal["writable", "pinned", "read-only", "hidden", "empty"]


class Mount(Struct, frozen=True):
    """One mount. What is empty is a new folder, which is forgotten at the end."""

    kind: MountKind
    place: str
    # What shows there, where that is something.
    source: str = ""
    # Of an empty folder.
    size: int = 0

    @property
    def meant(self) -> str:
        """The path that it stands for, or that it hides."""
        return self.source or self.place


class MeantMount(Struct, frozen=True):
    """A mount, and what its path led to when the sandbox was planned."""

    mount: Mount
    # Nothing for what is empty: whatever is there disappears.
    found: Inode | None

    def arguments(self) -> list[str]:
        """What bubblewrap is told."""
        mount = self.mount
        match mount.kind:
            case "writable" | "pinned":
                return ["--bind", mount.source, mount.place]
            case "read-only":
                return ["--ro-bind", mount.source, mount.place]
            case "empty":
                return ["--size", str(mount.size), "--tmpfs", mount.place]
            case "hidden" if self.found is not None and self.found.is_folder:
                return ["--perms", "000", "--tmpfs", mount.place, "--remount-ro", mount.place]
            case "hidden":
                # A device does not open on a mount without devices, so reading gives EACCES.
                return ["--ro-bind", os.devnull, mount.place]


class MountPlan(Struct, frozen=True):
    """The mounts of a sandbox in their order, and which folders lead to them."""

    mounts: tuple[MeantMount, ...]
    ways: Mapping[str, Inode]

    def arguments(self) -> list[str]:
        """What bubblewrap is told."""
        return [word for each in self.mounts for word in each.arguments()]

    def seen(self) -> list[MeantMount]:
        """Those that are not covered by another one at the same place."""
        return list({each.mount.place: each for each in self.mounts}.values())


def planned(mounts: Iterable[Mount]) -> MountPlan:
    """Note what each mount stands for, now. Raises a fault for what is, or crosses, a link."""
    meant: list[MeantMount] = []
    with host() as walk:
        for mount in mounts:
            found = None
            if mount.kind != "empty":
                try:
                    found = walk.found(mount.meant)
                except OSError as error:
                    if error.errno in {errno.ENOTDIR, errno.ELOOP}:
                        raise refused_link(mount.meant) from error
                    raise refused_change(mount.meant) from error
                if found.is_link:
                    raise refused_link(mount.meant)
            meant.append(MeantMount(mount, found))
        return MountPlan(tuple(meant), walk.passed())
