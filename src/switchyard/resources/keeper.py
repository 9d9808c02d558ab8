"""Makes, resets and drops the resources of branches; touches nothing that is not ours."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from switchyard.config.graph import closure
from switchyard.config.shapes import Config, Resource
from switchyard.core.fault import CONFLICT, USAGE, YardFault
from switchyard.project.scope import SHARED_SLUG, Target
from switchyard.resources import commands, compose, mysql, postgres, redis, sqlite_files
from switchyard.resources.site import ResourceSite, with_path
from switchyard.runtime.resource_records import (
    ResourceRecord,
    drop_record,
    put_record,
    resource_records,
)

_SCHEMES = {"postgres": "postgres://postgres@", "mysql": "mysql://root@", "redis": "redis://"}


class _Driver(NamedTuple):
    """How one kind of resource is handled."""

    found_mark: Callable[[ResourceSite], str | None]
    make: Callable[[ResourceSite], ResourceRecord]
    users: Callable[[ResourceSite], int]
    drop: Callable[[ResourceSite], None]


_DRIVERS = {
    name: _Driver(module.found_mark, module.make, module.users, module.drop)
    for name, module in (
        ("postgres", postgres),
        ("mysql", mysql),
        ("redis", redis),
        ("sqlite", sqlite_files),
        ("compose", compose),
        ("command", commands),
    )
}


def server_services(config: Config) -> set[str]:
    """The services that resources need, with all that those depend on."""
    names = [one.service for one in config.resources.values() if one.service]
    return set(closure(config.services, names))


def server_address(
    resource: Resource, config: Config, target: Target, ports: Mapping[tuple[str, str], int]
) -> str:
    """Where the server of a resource is. Raises `YardFault` when its service has no port yet."""
    if resource.service is None:
        return resource.server
    service = config.services[resource.service]
    slug = SHARED_SLUG if service.scope == "project" else target.slug
    port = ports.get((slug, service.name))
    if port is None:
        raise YardFault(
            "no-server",
            f"`{resource.name}` is on `{service.name}`, which does not run",
            hint=f"switchyard up {service.name}",
        )
    host = f"[{service.host}]" if ":" in service.host else service.host
    return f"{_SCHEMES[resource.kind]}{host}:{port}"


def _foreign(site: ResourceSite) -> YardFault:
    return YardFault(
        "not-ours",
        f"`{site.name}` is there, but Switchyard did not make it for `{site.target.branch}`",
        hint="rename or remove it yourself; it was left alone",
        exit_code=CONFLICT,
    )


def ensure(site: ResourceSite) -> ResourceRecord:
    """The resource, made if it is not there. Raises `YardFault` when what is there is not ours."""
    driver = _DRIVERS[site.resource.kind]
    known = [
        one
        for one in resource_records(site.places, site.target.slug)
        if one.resource == site.resource.name and one.name == site.name
    ]
    mark = driver.found_mark(site)
    if mark == site.mark and known and known[0].server == site.server:
        return known[0]
    if mark is not None and mark != site.mark:
        raise _foreign(site)
    if mark == site.mark and not known:
        # Made by us and its note lost: what is in it stays, so it is neither made nor dropped.
        record = _found_again(site, driver)
    elif mark == site.mark:
        record = known[0]._replace(server=site.server, address=_moved(site, known[0]))
    else:
        record = driver.make(site)
    put_record(site.places, record)
    return record


def _found_again(site: ResourceSite, driver: _Driver) -> ResourceRecord:
    if site.resource.kind in ("redis", "compose"):
        return driver.make(site)  # doing it again changes nothing
    return site.record(_moved(site, site.record("")))


def _moved(site: ResourceSite, record: ResourceRecord) -> str:
    """The address where its server is now."""
    if site.resource.kind in ("postgres", "mysql"):
        return with_path(site.server, site.name)
    return site.server if site.resource.kind == "redis" else record.address


def _check_unused(site: ResourceSite) -> None:
    count = _DRIVERS[site.resource.kind].users(site)
    if count:
        raise YardFault(
            "in-use",
            f"`{site.resource.name}` of `{site.target.branch}` has {count} open connection(s)",
            hint=f"switchyard down {site.target.branch}",
            exit_code=CONFLICT,
        )


def in_use(sites: Iterable[ResourceSite]) -> list[str]:
    """Reasons not to drop these: whatever cannot be told counts as none."""
    told: list[str] = []
    for site in sites:
        try:
            if _DRIVERS[site.resource.kind].found_mark(site) == site.mark:
                _check_unused(site)
        except YardFault as fault:
            if fault.code == "in-use":
                told.append(fault.message)
    return told


def drop(site: ResourceSite) -> bool:
    """Drop the resource if it is there and ours; whether it was.

    Raises `YardFault` while somebody uses it, or when it is not ours.
    """
    driver = _DRIVERS[site.resource.kind]
    mark = driver.found_mark(site)
    if mark is not None:
        if mark != site.mark:
            raise _foreign(site)
        _check_unused(site)
        driver.drop(site)
    for one in resource_records(site.places, site.target.slug):
        if one.resource == site.resource.name:
            drop_record(site.places, one)
    return mark is not None


def reset(site: ResourceSite) -> ResourceRecord:
    """Drop it and make it again from its source."""
    drop(site)
    record = _DRIVERS[site.resource.kind].make(site)
    put_record(site.places, record)
    return record


def resource_named(config: Config, name: str) -> Resource:
    """The resource of this name. Raises `YardFault` when there is none."""
    if name in config.resources:
        return config.resources[name]
    known = ", ".join(f"`{one}`" for one in config.resources) or "none"
    raise YardFault(
        "unknown-resource", f"unknown resource `{name}`; known: {known}", exit_code=USAGE
    )
