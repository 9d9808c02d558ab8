"""Stopping services: last level first, each level at once, nothing left behind."""

import os
import threading
from collections.abc import Mapping
from typing import Any

from switchkit.suggest import suggestion
from switchyard.config.graph import levels
from switchyard.config.shapes import Config
from switchyard.core.fault import USAGE, Fault
from switchyard.runtime.hooks import HookSite, run_hooks
from switchyard.runtime.lost_runs import all_runs
from switchyard.runtime.runs import Run
from switchyard.supervisor.service_thread import STOP_SLACK_S, Keeper, end_run
from switchyard.supervisor.yard import Emit, Yard


def down(yard: Yard, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Stop services, all of one level at once, and return when they are gone."""
    branch, names = request.get("branch"), set[str](request.get("services") or ())
    config = yard.config_or_none()
    if config:
        for name in names - set(config.services):
            if not any(run.service == name for run in yard.book.all()):
                raise Fault(
                    "unknown-service",
                    f"unknown service `{name}`; {suggestion(name, config.services)}",
                    exit_code=USAGE,
                )
    with yard.lock:
        runs = [
            run
            for run in all_runs(yard.scope.root, yard.places)
            if (branch is None or run.branch == branch) and (not names or run.service in names)
        ]
        if config and runs and request.get("hooks", True):
            for target in yard.scope.targets():
                if any(run.branch == target.branch for run in runs):
                    run_hooks(
                        config.hooks.pre_down,
                        HookSite(target, config, os.environ),
                        yard.children.run,
                        fatal=True,
                    )
        waiting = [
            one
            for one in yard.keepers.values()
            if not one.has_ended
            and (branch is None or one.launch.target.branch == branch)
            and (not names or one.launch.service.name in names)
        ]
        _uncheckout_of(yard, runs)
        stopped = _stop_all(yard, config, runs, waiting)
    emit({"event": "stopped"})
    left = [one for one in stopped if one["left"]]
    if left:
        raise Fault(
            "not-stopped",
            f"{len(left)} service(s) could not be stopped",
            details={"stopped": stopped},
        )
    return {"stopped": stopped}


def _stop_all(
    yard: Yard, config: Config | None, runs: list[Run], keepers: list[Keeper]
) -> list[dict[str, Any]]:
    services = config.services if config else {}
    names = {run.service for run in runs} | {one.launch.service.name for one in keepers}
    grouped = [list(level) for level in reversed(levels(services, sorted(names)))]
    grouped.append([name for name in names if name not in services])
    stopped: list[dict[str, Any]] = []
    for group in grouped:
        chosen = [one for one in keepers if one.launch.service.name in group]
        for one in chosen:
            one.stop()
        kept = {one.launch.key for one in chosen}
        lone = [r for r in runs if r.service in group and (r.branch_slug, r.service) not in kept]
        threads = [threading.Thread(target=_end_lone, args=(yard, run, stopped)) for run in lone]
        for thread in threads:
            thread.start()
        for one in chosen:
            one.join(one.launch.service.stop.grace_s * 2 + STOP_SLACK_S)
            stopped.append(_told(one))
            if one.has_ended:
                yard.keepers.pop(one.launch.key, None)
        for thread in threads:
            thread.join()
    return stopped


def _end_lone(yard: Yard, run: Run, stopped: list[dict[str, Any]]) -> None:
    outcome = end_run(run, yard.children)
    if not outcome.left:
        yard.book.drop(run)
    stopped.append(
        {
            "service": run.service,
            "branch": run.branch,
            "pid": run.pid or None,
            "forced": outcome.forced,
            "left": list(outcome.left),
            "port_free": outcome.port_free,
        }
    )


def _uncheckout_of(yard: Yard, runs: list[Run]) -> None:
    for one in yard.forwarders.all():
        if any(run.service == one.service and run.branch == one.branch for run in runs):
            yard.forwarders.close(one.port)


def _told(keeper: Keeper) -> dict[str, Any]:
    outcome, run = keeper.outcome, keeper.run
    return {
        "service": keeper.launch.service.name,
        "branch": keeper.launch.target.branch,
        "pid": run.pid if run else None,
        "forced": bool(outcome and outcome.forced),
        "left": list(outcome.left) if outcome else [],
        "port_free": outcome.port_free if outcome else True,
    }
