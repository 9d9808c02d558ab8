"""Everything of one home that runs, of every project, whatever became of its folder. Reads only."""

from pathlib import Path
from typing import Any

from switchkit.platform import Unknown
from switchkit.platform.ports import holder, listening
from switchyard.project.home import Home
from switchyard.project.registry import Registry
from switchyard.project.scope import FILE_NAME, ProjectScope
from switchyard.queries.services import Folders, view
from switchyard.runtime.family import members
from switchyard.runtime.observed import ObservedRun, Observer
from switchyard.runtime.ports import PortTable
from switchyard.runtime.runs import RunBook, RunRecord, lost_runs


def scopes(home: Home) -> list[ProjectScope]:
    """Every project of the home, and every root that something of it runs for."""
    registry = Registry(home)
    roots = [one.root for one in registry.read().projects.values()]
    known = {run.run_id for root in roots for run in RunBook(registry.places(root)).all()}
    lost = {Path(run.root) for run in lost_runs(home.project(home.path), known)}
    return [
        ProjectScope(home, registry, root, None) for root in (*roots, *sorted(lost - set(roots)))
    ]


def everything(home: Home) -> dict[str, Any]:
    """What runs, and what others left on ports that a project has reserved."""
    observer = Observer()
    found: list[tuple[ProjectScope, ObservedRun]] = []
    every = scopes(home)
    recorded = {one.root: RunBook(one.places).all() for one in every}
    known = {run.run_id for runs in recorded.values() for run in runs}
    lost = lost_runs(home.project(home.path), known)
    for scope in every:
        runs = recorded[scope.root] + [one for one in lost if one.root == str(scope.root)]
        found += [(scope, observer.observe(run)) for run in runs]
    rows = [_row(scope, one) for scope, one in found if one.status == "running" or one.survivors]
    return {
        "home": str(home.path),
        "services": rows,
        "strangers": _strangers(home, [one.run for _, one in found]),
    }


def _row(scope: ProjectScope, observed: ObservedRun) -> dict[str, Any]:
    known = scope.registration
    root = scope.root
    supervised = scope.places.is_supervised()
    return {
        "project": known.name if known else root.name,
        "root": str(root),
        "root_gone": not (root / FILE_NAME).is_file(),
        **view(observed, Folders(scope), supervised=supervised),
    }


def _strangers(home: Home, runs: list[RunRecord]) -> list[dict[str, Any]]:
    """Processes that hold a reserved port and belong to no run."""
    try:
        sockets = listening()
    except Unknown:
        return []
    ours: set[int] | None = None
    made: list[dict[str, Any]] = []
    for port, owner in sorted(PortTable(home).read().items()):
        inodes = sockets.get(port)
        held = holder(inodes) if inodes else None
        if held is None:
            continue
        if ours is None:
            ours = {one.pid for run in runs for one in members(run.leader)}
        if held.pid not in ours:
            made.append(
                {
                    "port": port,
                    "root": owner.root,
                    "branch": owner.branch,
                    "service": owner.service,
                    "pid": held.pid,
                    "command": held.command,
                }
            )
    return made
