"""Control groups for tests: a tree in memory, and one controller of the kernel by itself."""

import os
from pathlib import PurePath

from switchboard.sandbox.groups.group_tree import KernelTree

ROOT = "/groups/ours"
# Where the kernel keeps the pids controller apart from the others, its files are as in version 2.
PIDS = "/sys/fs/cgroup/pids"


class MemoryTree:
    """Behaves as the kernel: full groups hand nothing on, and are not removed."""

    def __init__(self, *, controllers: str = "cpu memory pids", others: int = 0) -> None:
        self.ours = frozenset((os.getpid(), 7_001))
        self.is_writable = True
        self.at = ROOT
        procs = "\n".join(map(str, (*self.ours, *((others,) if others else ()))))
        self.files = {
            ROOT: {
                "cgroup.controllers": controllers,
                "cgroup.procs": procs,
                "cgroup.subtree_control": "",
                "cgroup.type": "domain",
            }
        }
        # What was written and when processes came, in order.
        self.writes: list[tuple[str, str, str]] = []

    def own(self) -> str:
        return self.at

    def members(self) -> frozenset[int]:
        return self.ours

    def may_divide(self, folder: str) -> bool:
        return self.is_writable and folder in self.files

    def read(self, folder: str, name: str) -> str:
        try:
            return self.files[folder][name]
        except KeyError:
            raise FileNotFoundError from None

    def write(self, folder: str, name: str, text: str) -> None:
        files = self.files.get(folder)
        if files is None or name not in files:
            raise FileNotFoundError
        if name == "cgroup.subtree_control":
            if "cgroup.type" in files and files["cgroup.procs"]:
                raise OSError(16, "Device or resource busy")
            text = text.replace("+", "")
        if name == "cgroup.procs":
            for each in self.files.values():
                each[name] = "\n".join(pid for pid in each[name].split() if pid != text)
            text = f"{files[name]}\n{text}".strip()
        if name == "cgroup.kill":
            files["cgroup.procs"] = ""
        self.writes.append((PurePath(folder).name, name, text))
        files[name] = text

    def names(self, folder: str) -> list[str]:
        below = [PurePath(each).name for each in self.files if str(PurePath(each).parent) == folder]
        return [*self.files[folder], *below]

    def make(self, folder: str) -> None:
        if folder in self.files:
            raise FileExistsError
        above = self.files[str(PurePath(folder).parent)]["cgroup.subtree_control"].split()
        names = ["cgroup.procs", "cgroup.kill", "cgroup.type", "cgroup.subtree_control"]
        if "memory" in above:
            names += ["memory.max", "memory.swap.max", "memory.oom.group", "memory.events"]
        if "pids" in above:
            names += ["pids.max"]
        self.files[folder] = dict.fromkeys(names, "")

    def remove(self, folder: str) -> None:
        if folder not in self.files:
            raise FileNotFoundError
        if self.files[folder]["cgroup.procs"]:
            raise OSError(16, "Device or resource busy")
        del self.files[folder]

    @property
    def groups(self) -> list[str]:
        """The names of those below ours."""
        return [PurePath(each).name for each in self.files if each != ROOT]


class PidsTree(KernelTree):
    """The kernel's own pids controller, in a tree of its own, which says less of itself."""

    def own(self) -> str:
        return PIDS

    def may_divide(self, folder: str) -> bool:
        return os.access(folder, os.W_OK)

    def read(self, folder: str, name: str) -> str:
        if name in {"cgroup.controllers", "cgroup.subtree_control"}:
            return "pids"
        return super().read(folder, name)
