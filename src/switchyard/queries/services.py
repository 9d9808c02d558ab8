"""The state of services, one or all. Reads only; every call looks again."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from switchyard.core.fault import YardFault
from switchyard.core.slugs import slug
from switchyard.project.scope import SHARED_SLUG, ProjectScope, Target
from switchyard.runtime.branches import known_target, switched_to
from switchyard.runtime.definition import has_changed
from switchyard.runtime.family import Leader
from switchyard.runtime.observed import ObservedRun, Observer
from switchyard.runtime.runs import RunBook, RunRecord, all_runs

if TYPE_CHECKING:
    from switchyard.config.shapes import Config
    from switchyard.runtime.service_row import ServiceRow

MOST_OWNERS = 4096
_OWNERS: dict[tuple[str, int], Leader] = {}


class Folders:
    """What was asked about folders and files that several services share, for one answer."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope
        self._heads: dict[tuple[str, str], str | None] = {}
        self._configs: dict[str, Config | None] = {}

    def head(self, run: RunRecord) -> str | None:
        """The branch that is now checked out where the run was started, if it is another."""
        key = run.branch, run.worktree
        if key not in self._heads:
            self._heads[key] = switched_to(run)
        return self._heads[key]

    def has_changed(self, run: RunRecord) -> bool:
        """Whether the configuration says something else by now than when it was started."""
        return has_changed(run, lambda: self._config(run))

    def _config(self, run: RunRecord) -> "Config | None":
        # Reading the configuration costs more than all the rest, and few queries need it.
        from switchyard.project.configuration import config_for  # noqa: PLC0415

        if run.worktree not in self._configs:
            target = Target(run.branch, run.branch_slug, Path(run.worktree))
            try:
                self._configs[run.worktree] = config_for(self._scope, target)
            except YardFault:
                self._configs[run.worktree] = None
        return self._configs[run.worktree]


def view(observed: ObservedRun, folders: Folders, *, supervised: bool) -> "ServiceRow":
    """One service as shown. Its name is the URL only while names are served."""
    shown = observed.as_json()
    run = observed.run
    if not supervised and run.protocol == "http":
        shown["url"] = shown.get("direct_url")
    shown["supervised"] = supervised
    if observed.status == "running":
        if head := folders.head(run):
            shown["head"] = head
            shown["reason"] = shown["reason"] or "branch-switched"
        if folders.has_changed(run):
            shown["changed"] = True
    return shown


def observed_runs(
    scope: ProjectScope, branch: str | None = None, services: Iterable[str] = ()
) -> list[ObservedRun]:
    """The state of every recorded run, of one branch or of all."""
    names = set(services)
    observer = Observer(_OWNERS)
    if len(_OWNERS) > MOST_OWNERS:
        _OWNERS.clear()
    made = [observer.observe(run) for run in all_runs(scope.root, scope.places)]
    before = scope.before_move()
    if before:
        found = map(observer.observe, all_runs(before.root, before.places))
        made += [one._replace(reason=one.reason or "project-moved") for one in found]
    return [
        one
        for one in made
        if (branch is None or one.run.branch in (branch, "*"))
        and (not names or one.run.service in names)
    ]


def status(
    scope: ProjectScope, branch: str | None = None, services: Iterable[str] = ()
) -> "dict[str, list[ServiceRow]]":
    """Registered services with running or stale state."""
    supervised = scope.places.is_supervised()
    found = observed_runs(scope, branch, services)
    folders = Folders(scope)
    return {"services": [view(one, folders, supervised=supervised) for one in found]}


def where(scope: ProjectScope, service: str, branch: str | None = None) -> "dict[str, ServiceRow]":
    """URL, port, pid, worktree and log path of one service.

    A stopped service has an answer too; only an unknown one is a `YardFault`.
    """
    target = known_target(scope, branch)
    found = _started(scope, service, target, anywhere=branch is None and scope.here is None)
    return {"service": found or _never_started(scope, service, target)}


def _started(
    scope: ProjectScope, service: str, target: Target, *, anywhere: bool
) -> "ServiceRow | None":
    """The state of a service of this branch; nothing when it was never started."""
    places = scope.places
    book = RunBook(places)
    run = book.get(target.slug, service) or book.get(SHARED_SLUG, service)
    if run is None:
        found = all_runs(scope.root, places, target.slug)
        run = next((one for one in found if one.service == service), None)
    if run is None and anywhere:
        others = [one for one in book.all() if one.service in (service, slug(service))]
        run = others[0] if len(others) == 1 else None
    if run is None:
        return None
    observed = Observer(_OWNERS).observe(run)
    return view(observed, Folders(scope), supervised=places.is_supervised())


def _never_started(scope: ProjectScope, service: str, target: Target) -> "ServiceRow":
    # Reading the configuration costs more than all the rest, and few queries need it.
    from switchyard.project.configuration import check_service, config_for  # noqa: PLC0415

    config = config_for(scope, target)
    check_service(config, service)
    configured = config.services[service]
    log = scope.places.log(target.slug, service)
    return {
        "service": service,
        "branch": target.branch,
        "status": "stale",
        "phase": "stopped",
        "kind": configured.kind,
        "pid": None,
        "port": None,
        "canonical_port": configured.canonical_port,
        "url": None,
        "direct_url": None,
        "worktree": str(target.worktree),
        "log_path": str(log) if log.exists() else None,
        "reason": "not-started",
    }
