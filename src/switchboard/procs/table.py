"""The table of processes at one moment. Standard library only: the warden imports it."""

import os

_PROC = "/proc"
# Where the kernel shows no table only the leader of a session and its group can be seen.
IS_SHOWN = os.path.isdir(_PROC)  # noqa: PTH112 - the warden imports no pathlib

# The parent, the session, the start in clock ticks since boot, and whether it has ended.
Process = tuple[int, int, int, bool]


def read_process(pid: int) -> Process | None:
    """One process, which may have ended and wait to be reaped; None when there is none."""
    try:
        file = os.open(f"{_PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # The name before the last bracket may hold anything.
        fields = os.read(file, 4096).rpartition(b")")[2].split()
    except OSError:
        return None
    finally:
        os.close(file)
    return int(fields[1]), int(fields[3]), int(fields[19]), fields[0] in {b"Z", b"X"}


def parent_of(pid: int) -> int:
    """The process that started another; 0 when that cannot be known."""
    process = read_process(pid)
    return 0 if process is None else process[0]


def start_ticks(pid: int) -> int:
    """When a process began, in clock ticks since boot; 0 when that cannot be known."""
    process = read_process(pid)
    return 0 if process is None else process[2]


def program_behind(wall: int) -> int:
    """What a sandbox runs, of which only the outer wall is known; 0 when that cannot be seen.

    The wall has one child, the first process of the namespace. That one also gets whoever lost its
    parent inside, but the program came before them.
    """
    inside = [grandchild for child in _children_of(wall) for grandchild in _children_of(child)]
    return min(inside, key=start_ticks, default=0)


def _children_of(pid: int) -> list[int]:
    try:
        # A wall is one thread, so these are all.
        with open(f"{_PROC}/{pid}/task/{pid}/children", encoding="ascii") as file:  # noqa: PTH123
            return [int(child) for child in file.read().split()]
    except OSError:
        # It is gone, or this kernel has no such file.
        table = Table()
        return table.children(pid) if pid in table.processes else []


class Table:
    """Every process, by its number, by its parent and by its session. One pass for any question."""

    def __init__(self, without: frozenset[int] = frozenset()) -> None:
        names = os.listdir(_PROC) if IS_SHOWN else []  # noqa: PTH208 - as above
        # Those left out too. To list a process costs next to nothing beside reading about it.
        self.listed = frozenset(int(name) for name in names if name.isdigit())
        self.processes: dict[int, Process] = {}
        self._by_parent: dict[int, list[int]] = {}
        self.by_session: dict[int, list[int]] = {}
        for pid in self.listed - without:
            if (process := read_process(pid)) is not None:
                self.processes[pid] = process
                self._by_parent.setdefault(process[0], []).append(pid)
                self.by_session.setdefault(process[1], []).append(pid)

    def has(self, pid: int, ticks: int) -> bool:
        """Whether this number still belongs to the process that began then."""
        return pid in self.processes and self.processes[pid][2] == ticks

    def children(self, pid: int) -> list[int]:
        """The children of a process. Who is older than it had another parent of that number."""
        began = self.processes[pid][2]
        return [each for each in self._by_parent.get(pid, ()) if self.processes[each][2] >= began]
