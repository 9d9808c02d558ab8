"""Runs whose record was lost, found again by the marks that their processes carry."""

import time
from pathlib import Path

from switchyard.core.slugs import slug
from switchyard.proc.family import RUN_VARIABLE, marked_runs
from switchyard.proc.identity import boot_id, environment, vitals
from switchyard.project.home import ProjectPlaces
from switchyard.runtime.runs import RunBook, RunRecord


def lost_runs(root: Path, places: ProjectPlaces, known: set[str]) -> list[RunRecord]:
    """Living runs of this project that no readable record speaks of."""
    leaders: dict[str, int] = {}
    for pid, run_id in sorted(marked_runs().items()):
        if run_id in known:
            continue
        one = vitals(pid)
        if one and (run_id not in leaders or one.session == pid):
            leaders[run_id] = pid
    found = [_from_process(pid, places) for pid in leaders.values() if _root_of(pid) == str(root)]
    return [run for run in found if run]


def _root_of(pid: int) -> str | None:
    return environment(pid).get("SWITCHYARD_ROOT")


def _from_process(pid: int, places: ProjectPlaces) -> RunRecord | None:
    env, one = environment(pid), vitals(pid)
    service, branch = env.get("SWITCHYARD_SERVICE"), env.get("SWITCHYARD_BRANCH")
    if one is None or not service or branch is None:
        return None
    branch_slug = env.get("SWITCHYARD_BRANCH_SLUG") or slug(branch)
    port = env.get("SWITCHYARD_PORT", "")
    canonical = env.get("CANONICAL_PORT", "")
    return RunRecord(
        run_id=env[RUN_VARIABLE],
        service=service,
        branch=branch,
        branch_slug=branch_slug,
        kind="service",
        pid=pid,
        ticks=one.ticks,
        boot_id=boot_id(),
        command=(),
        root=env.get("SWITCHYARD_ROOT", ""),
        worktree=env.get("SWITCHYARD_WORKTREE", ""),
        host=env.get("HOST", "127.0.0.1"),
        port=int(port) if port.isdigit() else None,
        canonical_port=int(canonical) if canonical.isdigit() else None,
        protocol="http" if env.get("SWITCHYARD_URL", "").startswith("http") else "tcp",
        url=env.get("SWITCHYARD_URL") or None,
        log=str(places.log(branch_slug, service)),
        log_start=0,
        started_at=time.time(),
        reason="record-lost",
    )


def all_runs(root: Path, places: ProjectPlaces, branch_slug: str | None = None) -> list[RunRecord]:
    """Every recorded run; those with a broken record are found by their processes.

    The sweep of all processes is made only when a record is broken.
    """
    runs, broken = RunBook(places).sorted_out(branch_slug)
    if broken:
        known = {run.run_id for run in RunBook(places).all()}
        lost = lost_runs(root, places, known)
        runs += [run for run in lost if branch_slug in (None, run.branch_slug)]
    return runs
