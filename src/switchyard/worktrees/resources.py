"""Resources of a branch where worktrees are made and removed, without a supervisor."""

from typing import Any

from switchyard.config.shapes import Config, Resource
from switchyard.control.actions import up
from switchyard.core.environ import caller
from switchyard.core.fault import YardFault
from switchyard.project.configuration import config_for
from switchyard.project.scope import SHARED_BRANCH, SHARED_SLUG, ProjectScope, Target
from switchyard.resources.keeper import drop, ensure, in_use, reset, resource_named, server_address
from switchyard.resources.site import ResourceSite
from switchyard.runtime.ports import PortTable
from switchyard.runtime.resource_records import resource_records, shown_address
from switchyard.worktrees.commands import run_here


def _site(scope: ProjectScope, config: Config, target: Target, resource: Resource) -> ResourceSite:
    table = PortTable(scope.home)
    ports = {(target.slug, k): p for k, p in table.lookup(scope.root, target.branch).items()}
    ports |= {(SHARED_SLUG, k): p for k, p in table.lookup(scope.root, SHARED_BRANCH).items()}
    server = server_address(resource, config, target, ports)
    return ResourceSite(resource, target, config, scope.places, caller(), run_here, server)


def _start_server(scope: ProjectScope, target: Target, resource: Resource) -> None:
    if resource.service:
        up(scope, branch=target.branch, services=[resource.service], env=caller())


def make_resources(scope: ProjectScope, target: Target) -> tuple[list[dict[str, Any]], list[str]]:
    """Make what needs no service of the project; what was made, and what went wrong."""
    config = config_for(scope, target)
    made: list[dict[str, Any]] = []
    warnings: list[str] = []
    for resource in config.resources.values():
        if resource.service:
            continue  # made at the first start, when its server runs
        try:
            record = ensure(_site(scope, config, target, resource))
        except YardFault as fault:
            warnings.append(fault.message)
        else:
            made.append({"resource": resource.name, "address": shown_address(record.address)})
    return made, warnings


def reset_resource(scope: ProjectScope, target: Target, name: str) -> dict[str, Any]:
    """Make a resource of a branch anew. Raises `YardFault` while it is in use."""
    config = config_for(scope, target)
    resource = resource_named(config, name)
    _start_server(scope, target, resource)
    record = reset(_site(scope, config, target, resource))
    return {
        "resource": name,
        "branch": target.branch,
        "kind": resource.kind,
        "address": shown_address(record.address),
    }


def droppable(scope: ProjectScope, config: Config, target: Target) -> list[ResourceSite]:
    """What was made for the branch and is dropped with it.

    What is on a server of the branch alone goes with that server's data.
    """
    made: list[ResourceSite] = []
    for record in resource_records(scope.places, target.slug):
        resource = config.resources.get(record.resource)
        if resource is None:
            continue
        service = config.services[resource.service] if resource.service else None
        if service and service.scope == "branch":
            continue
        _start_server(scope, target, resource)
        made.append(_site(scope, config, target, resource))
    return made


def reasons_to_keep(sites: list[ResourceSite]) -> list[str]:
    """Who still uses something of it."""
    return in_use(sites)


def drop_resources(sites: list[ResourceSite]) -> list[str]:
    """Drop them; the names of those that were there."""
    return [site.resource.name for site in sites if drop(site)]
