"""Resources of a branch before its services start: made once, by servers that may be services."""

from collections.abc import Mapping

from switchyard.config.shapes import Config
from switchyard.project.scope import Target
from switchyard.resources.keeper import ensure, server_address, server_services
from switchyard.resources.site import ResourceSite
from switchyard.supervisor.yard import Yard

__all__ = ["make_resources", "server_services"]


def make_resources(yard: Yard, config: Config, target: Target, caller: Mapping[str, str]) -> None:
    """See that everything the branch is to have is there. Raises `YardFault` when it cannot be."""
    ports = yard.known_ports(config, target)
    with yard.holding({target.slug}):
        for resource in config.resources.values():
            server = server_address(resource, config, target, ports)
            run = yard.children.run
            ensure(ResourceSite(resource, target, config, yard.places, caller, run, server))
