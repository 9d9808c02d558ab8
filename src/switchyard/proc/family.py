"""Every process of a run: by the verified leader's session, and by the mark in its environment.

A process counts only with proof, so that a stranger who got a reused pid is never taken for ours.
"""

from typing import NamedTuple

from switchyard.proc.identity import Vitals, boot_id, pids, read_proc, vitals

RUN_VARIABLE = "SWITCHYARD_RUN_ID"


class Leader(NamedTuple):
    """The process a run was started as."""

    pid: int
    ticks: int
    boot_id: str
    run_id: str


def leader_vitals(leader: Leader) -> Vitals | None:
    """The leader itself, alive or a zombie; nothing when that pid is somebody else now."""
    if leader.boot_id != boot_id():
        return None
    found = vitals(leader.pid)
    return found if found and found.ticks == leader.ticks else None


def is_marked(pid: int, run_id: str) -> bool:
    """Whether the process carries the mark of this run."""
    raw = read_proc(f"/proc/{pid}/environ")
    return bool(raw) and f"\0{RUN_VARIABLE}={run_id}\0".encode() in b"\0" + (raw or b"")


def members(leader: Leader) -> list[Vitals]:
    """Every living process of the run, the leader included."""
    if leader.boot_id != boot_id():
        return []
    proven = leader_vitals(leader) is not None
    # Some programs, PostgreSQL among them, write over their environment and leave the session.
    below = set(descendants(leader.pid)) if proven else set[int]()
    found: list[Vitals] = []
    for pid in pids():
        one = vitals(pid)
        if one is None or one.is_dead or one.ticks < leader.ticks:
            continue
        ours = proven and (one.session == leader.pid or pid in below)
        if ours or is_marked(pid, leader.run_id):
            found.append(one)
    return found


def marked_runs() -> dict[int, str]:
    """The run mark of every living process that carries one."""
    made: dict[int, str] = {}
    needle = f"\0{RUN_VARIABLE}=".encode()
    for pid in pids():
        raw = b"\0" + (read_proc(f"/proc/{pid}/environ") or b"")
        at = raw.find(needle)
        if at >= 0:
            start = at + len(needle)
            one = vitals(pid)
            if one and not one.is_dead:
                made[pid] = raw[start : raw.find(b"\0", start)].decode("utf-8", "replace")
    return made


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs, as the kernel lists them."""
    found: list[int] = []
    queue = [pid]
    while queue:
        current = queue.pop()
        raw = read_proc(f"/proc/{current}/task/{current}/children") or b""
        children = [int(one) for one in raw.split()]
        found += children
        queue += children
    return found
