"""The state of a run now, computed from the kernel each time; the record is only a claim."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from switchkit.platform import Unknown, Vitals
from switchkit.platform.ports import PortHolder, holder, holds, listening
from switchkit.platform.processes import vitals
from switchkit.processes import ProcessTable, descendants
from switchyard.runtime.family import Leader, boot_id, leader_vitals, marked_runs, members
from switchyard.runtime.runs import RunRecord

if TYPE_CHECKING:
    from switchyard.runtime.service_row import ServiceRow

ENDED = ("exited", "crashed", "completed", "failed")


class ObservedRun(NamedTuple):
    """A run and what the kernel says about it."""

    run: RunRecord
    status: Literal["running", "stale"]
    phase: str
    reason: str | None = None
    survivors: tuple[int, ...] = ()
    intruder: PortHolder | None = None

    def as_json(self) -> "ServiceRow":
        """The record of one service as every answer shows it."""
        run = self.run
        # What has ended has no address any more; an orphan may still be there.
        there = self.status == "running" or bool(self.survivors)
        made: ServiceRow = {
            "service": run.service,
            "branch": run.branch,
            "status": self.status,
            "phase": self.phase,
            "kind": run.kind,
            "pid": run.pid if self.status == "running" else None,
            "port": run.port if there else None,
            "canonical_port": run.canonical_port,
            "url": run.url if there else None,
            "direct_url": direct_url(run) if there else None,
            "worktree": run.worktree,
            "log_path": run.log,
            "run_id": run.run_id,
            "started_at": run.started_at,
            "ready_at": run.ready_at,
            "exit_code": run.exit_code,
            "reason": self.reason,
            "restarts": run.restarts,
        }
        if self.survivors:
            made["pids"] = list(self.survivors)
        if self.intruder:
            made["port_owner"] = {"pid": self.intruder.pid, "command": self.intruder.command}
        return made


def direct_url(run: RunRecord) -> str | None:
    """The address that needs no names and no proxy."""
    if run.port is None:
        return None
    host = f"[{run.host}]" if ":" in run.host else run.host
    return f"http://{host}:{run.port}" if run.protocol == "http" else f"{host}:{run.port}"


class Observer:
    """A snapshot of the machine, shared by all runs judged against it."""

    def __init__(self, owners: dict[tuple[str, int], Leader] | None = None) -> None:
        self._sockets: dict[int, set[int]] | None = None
        self._marks: dict[int, str] | None = None
        self._table: ProcessTable | None = None
        self._owners = {} if owners is None else owners

    def observe(self, run: RunRecord) -> ObservedRun:
        """Whether the run lives, and in what state."""
        if run.boot_id != boot_id():
            return ObservedRun(run, "stale", _ended(run), "reboot")
        if not run.pid and run.phase not in ENDED:
            run = self._with_pid(run)
        found = leader_vitals(run.leader)
        if found is None or found.is_dead:
            return self._without_leader(run, found)
        if run.kind == "task":
            return ObservedRun(run, "running", "starting", run.reason)
        if found.is_stopped:
            return ObservedRun(run, "running", "unhealthy", "suspended")
        return self._with_leader(run)

    def _with_pid(self, run: RunRecord) -> RunRecord:
        """The run with its leader, where a full disk kept that from being written."""
        for pid in self._marked(run.run_id):
            one = vitals(pid)
            if one and one.session == pid:
                return run._replace(pid=pid, ticks=one.began)
        return run

    def _without_leader(self, run: RunRecord, found: Vitals | None) -> ObservedRun:
        found_pids = self._marked(run.run_id) | self._unmarked(run)
        if found is not None and not found_pids:
            found_pids = {one.pid for one in members(run.leader)}
        survivors = tuple(sorted(self._with_descendants(found_pids) - {run.pid}))
        if survivors:
            return ObservedRun(run, "stale", "orphaned", "leader-gone", survivors)
        reused = found is None and vitals(run.pid) is not None
        phase = _ended(run)
        reason = run.reason if run.phase in ENDED else ("pid-reused" if reused else "gone")
        return ObservedRun(run, "stale", phase, reason)

    def _with_leader(self, run: RunRecord) -> ObservedRun:
        if run.port is None:
            return ObservedRun(run, "running", run.phase, run.reason)
        try:
            inodes = self._listening(run.port)
        except Unknown:
            return ObservedRun(run, "running", run.phase, "port-owner-hidden")
        if not inodes:
            if run.ready_at is None:
                return ObservedRun(run, "running", "starting", run.reason)
            return ObservedRun(run, "running", "unhealthy", "port-closed")
        if self._is_ours(run, inodes):
            return ObservedRun(run, "running", run.phase, run.reason)
        return self._held_by_others(run, inodes)

    def _listening(self, port: int) -> set[int]:
        if self._sockets is None:
            self._sockets = listening()
        return self._sockets.get(port, set())

    @staticmethod
    def _held_by_others(run: RunRecord, inodes: set[int]) -> ObservedRun:
        intruder = holder(inodes)
        if intruder is None:
            return ObservedRun(run, "running", run.phase, "port-owner-hidden")
        return ObservedRun(run, "running", "port_conflict", "port-taken", (), intruder)

    def _is_ours(self, run: RunRecord, inodes: set[int]) -> bool:
        for inode in inodes:
            known = self._owners.get((run.run_id, inode))
            if known and leader_vitals(known):
                return True
        for pid in (run.pid, *descendants(run.pid)):
            if holds(pid, inodes):
                self._remember(run, pid, inodes)
                return True
        for one in members(run.leader):
            if holds(one.pid, inodes):
                self._remember(run, one.pid, inodes)
                return True
        return False

    def _remember(self, run: RunRecord, pid: int, inodes: set[int]) -> None:
        one = vitals(pid)
        if one:
            owner = Leader(pid, one.began, boot_id(), run.run_id)
            self._owners.update({(run.run_id, inode): owner for inode in inodes})

    def _unmarked(self, run: RunRecord) -> set[int]:
        if self._table is None:
            self._table = ProcessTable()
        living = self._table.processes
        return {pid for pid in run.leader.survivors(self._table) if not living[pid].is_dead}

    def _with_descendants(self, found: set[int]) -> set[int]:
        """These and all below them: who wrote over its variables is known by its parent."""
        if self._table is None and found:
            self._table = ProcessTable()
        known, queue = set(found), list(found)
        while self._table and queue:
            pid = queue.pop()
            if pid in self._table.processes:
                below = [
                    each
                    for each in self._table.children(pid)
                    if each not in known and not self._table.processes[each].is_dead
                ]
                known.update(below)
                queue += below
        return known

    def _marked(self, run_id: str) -> set[int]:
        if self._marks is None:
            self._marks = marked_runs()
        return {pid for pid, mark in self._marks.items() if mark == run_id}


def _ended(run: RunRecord) -> str:
    if run.phase in ENDED:
        return run.phase
    return "exited"
