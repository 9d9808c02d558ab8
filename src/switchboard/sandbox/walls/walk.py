"""Ways through folders that nobody can lead elsewhere meanwhile: no link is followed."""

import os
import stat
from types import TracebackType
from typing import Self

from msgspec import Struct

from switchkit.platform.files import HANDLE_ONLY

_LOOK = HANDLE_ONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class Inode(Struct, frozen=True):
    """Which file or folder it is, whatever its name."""

    device: int
    number: int
    is_folder: bool
    is_link: bool

    @classmethod
    def of(cls, status: os.stat_result) -> "Inode":
        """What a status tells."""
        mode = status.st_mode
        return cls(status.st_dev, status.st_ino, stat.S_ISDIR(mode), stat.S_ISLNK(mode))


class Walk:
    """Descriptors of the folders that lead from one root to some paths, each opened in the last."""

    def __init__(self, root: int) -> None:
        """Take over the descriptor of a root."""
        self._open = {os.sep: root}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in self._open.values():
            os.close(handle)

    def handle(self, path: str) -> int:
        """The descriptor of a path, which stays open as long as this. Raises OSError.

        A link has one too, and leads nowhere.
        """
        if (known := self._open.get(path)) is not None:
            return known
        above, name = os.path.split(path)
        found = os.open(name, _LOOK, dir_fd=self.handle(above))
        self._open[path] = found
        return found

    def found(self, path: str) -> Inode:
        """What a path leads to. Raises OSError."""
        return Inode.of(os.fstat(self.handle(path)))

    def passed(self) -> dict[str, Inode]:
        """Every path that was looked at, the folders on the way too."""
        return {path: Inode.of(os.fstat(handle)) for path, handle in self._open.items()}

    def mount(self, path: str) -> str:
        """The number of the mount that a path lies in. Raises OSError."""
        with open(f"/proc/self/fdinfo/{self.handle(path)}", encoding="ascii") as file:
            return next((line for line in file if line.startswith("mnt_id")), "")


def host() -> Walk:
    """Ways through the folders of this machine."""
    return Walk(os.open(os.sep, _LOOK | os.O_DIRECTORY))
