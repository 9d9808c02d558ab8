"""Stopping services: last level first, each level at once, nothing left over."""

import os
import threading

from switchyard.config.graph import levels
from switchyard.config.shapes import Config
from switchyard.control.protocol import DownAnswer, DownRequest, StoppedRow
from switchyard.core.fault import YardFault
from switchyard.project.configuration import check_service
from switchyard.runtime.hooks import HookSite, run_hooks
from switchyard.runtime.runs import RunRecord, all_runs
from switchyard.supervisor.service.service_thread import STOP_SLACK_S, ServiceThread
from switchyard.supervisor.stopping import Stopped, end_run
from switchyard.supervisor.yard import Emit, Yard


def down(yard: Yard, request: DownRequest, emit: Emit) -> DownAnswer:
    """Stop services, all of one level at once, and return when they are gone."""
    config = yard.config_or_none()
    if config:
        _check_names(yard, config, request)
    # Held to the end, hooks included: nothing may be started on ports that are about to be free.
    with yard.holding(_slugs(yard, request)):
        runs = _meant(request, all_runs(yard.scope.root, yard.places, sweeps=True))
        if config and runs:
            _run_hooks(yard, config, {run.branch for run in runs})
        watched = [
            one
            for one in list(yard.threads.values())
            if not one.has_ended
            and _is_meant(request, one.launch.target.branch, one.launch.service.name)
        ]
        if not request.keeps_ports:
            _uncheckout_of(yard, runs)
        stopped = _stop_all(yard, config, runs, watched)
    emit({"event": "stopped"})
    left = [one for one in stopped if one["left"]]
    if left:
        raise YardFault(
            "not-stopped",
            f"{len(left)} service(s) could not be stopped",
            details={"stopped": stopped},
        )
    return {"stopped": stopped}


def _meant(request: DownRequest, runs: list[RunRecord]) -> list[RunRecord]:
    return [run for run in runs if _is_meant(request, run.branch, run.service)]


def _slugs(yard: Yard, request: DownRequest) -> set[str]:
    """The branches that a request is about."""
    found = {run.branch_slug for run in _meant(request, yard.book.all())}
    for one in list(yard.threads.values()):
        target = one.launch.target
        if _is_meant(request, target.branch, one.launch.service.name):
            found.add(target.slug)
    return found


def _is_meant(request: DownRequest, branch: str, service: str) -> bool:
    return request.branch in (None, branch) and (
        not request.services or service in request.services
    )


def _check_names(yard: Yard, config: Config, request: DownRequest) -> None:
    """Refuse a name that is neither in the configuration nor in a run."""
    for name in set(request.services) - set(config.services):
        if not any(run.service == name for run in yard.book.all()):
            check_service(config, name)


def _run_hooks(yard: Yard, config: Config, branches: set[str]) -> None:
    for target in yard.scope.targets():
        if target.branch in branches:
            site = HookSite(target, config, os.environ)
            run_hooks(config.hooks.pre_down, site, yard.children.run, fatal=True)


def _stop_all(
    yard: Yard, config: Config | None, runs: list[RunRecord], watched: list[ServiceThread]
) -> list[StoppedRow]:
    """Stop level by level. A run without a service thread gets one to stop it."""
    services = config.services if config else {}
    names = {run.service for run in runs} | {one.launch.service.name for one in watched}
    grouped = [list(level) for level in reversed(levels(services, sorted(names)))]
    grouped.append([name for name in names if name not in services])
    stopped: list[StoppedRow] = []
    for group in grouped:
        chosen = [one for one in watched if one.launch.service.name in group]
        for one in chosen:
            one.stop()
        keys = {one.launch.key for one in chosen}
        lone = [r for r in runs if r.service in group and (r.branch_slug, r.service) not in keys]
        enders = [threading.Thread(target=_end_lone, args=(yard, run, stopped)) for run in lone]
        for ender in enders:
            ender.start()
        for one in chosen:
            one.join(one.launch.service.stop.grace_s * 2 + STOP_SLACK_S)
            stopped.append(_told(one))
            if one.has_ended:
                yard.threads.pop(one.launch.key, None)
        for ender in enders:
            ender.join()
    return stopped


def _end_lone(yard: Yard, run: RunRecord, stopped: list[StoppedRow]) -> None:
    # `list.append` needs no lock, and whoever reads the list has joined this thread before.
    outcome = end_run(run, yard.children)
    if not outcome.left:
        yard.book.drop(run)
        thread = yard.threads.get((run.branch_slug, run.service))
        if thread and thread.has_ended:
            yard.threads.pop(thread.launch.key, None)
    stopped.append(_row(run.service, run.branch, run.pid or None, outcome))


def stop_run(yard: Yard, run: RunRecord, *, keeps_ports: bool = False) -> None:
    """Stop one run, whoever looks after it. Needs its branch."""
    thread = yard.threads.get((run.branch_slug, run.service))
    if not keeps_ports:
        _uncheckout_of(yard, [run])
    if thread and not thread.has_ended:
        _stop_all(yard, None, [], [thread])
    else:
        _stop_all(yard, None, [run], [])


def _uncheckout_of(yard: Yard, runs: list[RunRecord]) -> None:
    with yard.lock:
        for one in yard.forwarders.all():
            if any(run.service == one.service and run.branch == one.branch for run in runs):
                yard.forwarders.close(one.port)


def _told(thread: ServiceThread) -> StoppedRow:
    pid = thread.run.pid if thread.run else None
    return _row(thread.launch.service.name, thread.launch.target.branch, pid, thread.outcome)


def _row(service: str, branch: str, pid: int | None, outcome: Stopped | None) -> StoppedRow:
    outcome = outcome or Stopped(False, (), True)
    made: StoppedRow = {
        "service": service,
        "branch": branch,
        "pid": pid,
        "forced": outcome.forced,
        "left": list(outcome.left),
        "port_free": outcome.port_free,
    }
    if outcome.owner:
        made["port_owner"] = {"pid": outcome.owner.pid, "command": outcome.owner.command}
    return made
