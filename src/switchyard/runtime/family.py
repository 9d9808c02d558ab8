"""Every process of a run: by the verified leader's session, and by the mark in its environment.

A process counts only with proof, so a stranger with a reused pid is never taken for ours.
Some programs, PostgreSQL among them, write over their environment and leave the session; those are
found below the leader.
"""

from functools import cache
from typing import NamedTuple

from switchkit.platform import Vitals
from switchkit.platform.system import boot, pids, raw_environment, vitals
from switchkit.processes import Family, ProcessTable, living

RUN_VARIABLE = "SWITCHYARD_RUN_ID"

boot_id = cache(boot)


class Leader(NamedTuple):
    """The process a run was started as."""

    pid: int
    ticks: int
    boot_id: str
    run_id: str

    def family(self) -> Family:
        """Everything that descends from it, in this boot only."""
        return Family(self.pid, self.ticks, f"{RUN_VARIABLE}={self.run_id}".encode())


def leader_vitals(leader: Leader) -> Vitals | None:
    """The leader itself, alive or a zombie; nothing when another process has its pid."""
    if leader.boot_id != boot_id():
        return None
    found = vitals(leader.pid)
    return found if found and found.began == leader.ticks else None


def members(leader: Leader) -> list[Vitals]:
    """Every living process of the run, the leader included."""
    return leader.family().look(ProcessTable()) if leader.boot_id == boot_id() else []


def marked_runs() -> dict[int, str]:
    """The run mark of every living process that carries one."""
    made: dict[int, str] = {}
    needle = f"\0{RUN_VARIABLE}=".encode()
    for pid in pids():
        raw = b"\0" + raw_environment(pid)
        at = raw.find(needle)
        if at >= 0 and living(pid):
            start = at + len(needle)
            made[pid] = raw[start : raw.find(b"\0", start)].decode("utf-8", "replace")
    return made
