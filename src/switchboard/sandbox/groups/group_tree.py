"""The control groups of this machine, as the kernel shows them: folders with files to write into.

Version 2 alone, where one tree has every controller. What the files mean is not known here.
"""

import os
from typing import Protocol

from switchkit.processes import Family, ProcessTable, began


class GroupTree(Protocol):
    """Groups by their folders. Every method may raise OSError."""

    def own(self) -> str:
        """The folder of the group that the process in question is in."""
        ...

    def members(self) -> frozenset[int]:
        """That process, and everything that came of it."""
        ...

    def may_divide(self, folder: str) -> bool:
        """Whether we may make groups in it and move processes there."""
        ...

    def read(self, folder: str, name: str) -> str: ...

    def write(self, folder: str, name: str, text: str) -> None: ...

    def names(self, folder: str) -> list[str]:
        """Of the groups and files in it."""
        ...

    def make(self, folder: str) -> None: ...

    def remove(self, folder: str) -> None: ...


class KernelTree:
    """The real one, as seen from one process."""

    def __init__(self, pid: int = 0) -> None:
        self._pid = pid or os.getpid()

    def own(self) -> str:
        """Raise FileNotFoundError where there is none that we see."""
        with open(f"/proc/{self._pid}/cgroup", encoding="utf-8") as file:
            path = next((line[3:].rstrip("\n") for line in file if line.startswith("0::")), "")
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            for line in file:
                place, _, kind = line.partition(" - ")
                if kind.split(" ", 1)[0] != "cgroup2":
                    continue
                root, mount = place.split(" ")[3:5]
                inside = path.removeprefix(root.rstrip("/"))
                if inside.startswith("/") and not inside.startswith("/.."):
                    return os.path.normpath(mount + inside)
        raise FileNotFoundError

    def members(self) -> frozenset[int]:
        family = Family(self._pid, began(self._pid))
        family.look(ProcessTable())
        return family.members

    def may_divide(self, folder: str) -> bool:
        files = ("", "cgroup.procs", "cgroup.subtree_control")
        return all(os.access(os.path.join(folder, each), os.W_OK) for each in files)

    def read(self, folder: str, name: str) -> str:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()

    def write(self, folder: str, name: str, text: str) -> None:
        number = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(number, text.encode())
        finally:
            os.close(number)

    def names(self, folder: str) -> list[str]:
        return os.listdir(folder)

    def make(self, folder: str) -> None:
        os.mkdir(folder)

    def remove(self, folder: str) -> None:
        os.rmdir(folder)
