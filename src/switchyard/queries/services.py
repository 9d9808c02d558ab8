"""The state of services, one or all. Reads only; every call looks again."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from switchyard.core.slugs import slug
from switchyard.project.scope import SHARED_SLUG, ProjectScope, Target
from switchyard.runtime.family import Leader
from switchyard.runtime.observed import ObservedRun, Observer
from switchyard.runtime.runs import RunBook, all_runs

if TYPE_CHECKING:
    from switchyard.runtime.service_row import ServiceRow

MOST_OWNERS = 4096
_OWNERS: dict[tuple[str, int], Leader] = {}


def view(observed: ObservedRun, *, supervised: bool) -> "ServiceRow":
    """One service as shown. Its name is the URL only while names are served."""
    shown = observed.as_json()
    if not supervised and observed.run.protocol == "http":
        shown["url"] = shown.get("direct_url")
    shown["supervised"] = supervised
    return shown


def observed_runs(
    scope: ProjectScope, branch: str | None = None, services: Iterable[str] = ()
) -> list[ObservedRun]:
    """The state of every recorded run, of one branch or of all."""
    names = set(services)
    observer = Observer(_OWNERS)
    if len(_OWNERS) > MOST_OWNERS:
        _OWNERS.clear()
    return [
        observer.observe(run)
        for run in all_runs(scope.root, scope.places)
        if (branch is None or run.branch in (branch, "*")) and (not names or run.service in names)
    ]


def status(
    scope: ProjectScope, branch: str | None = None, services: Iterable[str] = ()
) -> "dict[str, list[ServiceRow]]":
    """Registered services with running or stale state."""
    supervised = scope.places.is_supervised()
    found = observed_runs(scope, branch, services)
    return {"services": [view(one, supervised=supervised) for one in found]}


def where(scope: ProjectScope, service: str, branch: str | None = None) -> "dict[str, ServiceRow]":
    """URL, port, pid, worktree and log path of one service.

    A stopped service has an answer too; only an unknown one is a `YardFault`.
    """
    target = scope.target(branch)
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
    return view(Observer(_OWNERS).observe(run), supervised=places.is_supervised())


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
