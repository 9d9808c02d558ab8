"""Every process of a run: by the verified leader's session, and by the mark in its environment.

A process counts only with proof, so a stranger with a reused pid is never taken for ours.
Some programs, PostgreSQL among them, write over their environment and leave the session; those are
found below the leader. Once the leader is gone, who is left of its session is still ours: nobody
gets the number of a session while it has members. Only one whose variables can be read, and are
not ours, is of a later session of that number. Who has left the session too is ours if the
supervisor, which inherits orphans, noted it in time: those are the kin of the leader. So is whoever
comes of them, and who is left of a session that one of them was in or began.
"""

from functools import cache
from typing import NamedTuple

from switchkit.platform import Unknown, Vitals
from switchkit.platform.processes import boot, pids, raw_environment, vitals
from switchkit.processes import Family, ProcessTable, has_environment, living
from switchyard.core.fault import CONFLICT, YardFault

RUN_VARIABLE = "SWITCHYARD_RUN_ID"


@cache
def boot_id() -> str:
    """Which boot of the machine this is. Raises `YardFault`."""
    try:
        return boot()
    except Unknown as unknown:
        raise YardFault(
            "system-unknown",
            f"{unknown}, so a process of ours could not be told from a stranger of a later boot",
            exit_code=CONFLICT,
        ) from unknown


class Leader(NamedTuple):
    """The process a run was started as."""

    pid: int
    ticks: int
    boot_id: str
    run_id: str
    kin: tuple[tuple[int, int], ...] = ()
    kin_sessions: tuple[int, ...] = ()

    def family(self) -> Family:
        """Everything that descends from it, in this boot only."""
        mark = f"{RUN_VARIABLE}={self.run_id}".encode()
        # Whoever is below a leader that lives is found there.
        is_needed = self.kin or vitals(self.pid) is None
        return Family(
            self.pid, self.ticks, mark, self.survivors(ProcessTable()) if is_needed else None
        )

    def survivors(self, table: ProcessTable) -> dict[int, int]:
        """Who is left of it without the mark when it is gone, each with the time of its start."""
        found = {pid: began for pid, began in self.kin if table.has(pid, began)}
        # A run that could not be started has no number, and session 0 is the system's own.
        for session in {self.pid, *self.kin_sessions, *(pid for pid, _ in self.kin)} - {0}:
            if session in table.listed:
                continue
            for pid in table.by_session.get(session, ()):
                began = table.processes[pid].began
                if began >= self.ticks and _shows_none(pid):
                    found[pid] = began
        return found


def _shows_none(pid: int) -> bool:
    """Whether a process has no variables; one that we may not see may be anybody's."""
    try:
        return not has_environment(pid)
    except Unknown:
        return False


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
        try:
            raw = b"\0" + raw_environment(pid)
        except Unknown:
            continue
        at = raw.find(needle)
        if at >= 0 and living(pid):
            start = at + len(needle)
            made[pid] = raw[start : raw.find(b"\0", start)].decode("utf-8", "replace")
    return made
