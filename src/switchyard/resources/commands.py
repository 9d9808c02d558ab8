"""Whatever a project makes with commands of its own. The note that we made it is the mark."""

from switchyard.resources.site import ResourceSite
from switchyard.runtime.resource_records import ResourceRecord, resource_records


def found_mark(site: ResourceSite) -> str | None:
    """Whether it was made and not dropped since."""
    known = resource_records(site.places, site.target.slug)
    return site.mark if any(one.resource == site.resource.name for one in known) else None


def make(site: ResourceSite) -> ResourceRecord:
    """Run the command; the last line that it prints is the address, unless `url` says it."""
    told = site.output([site.filled(one) for one in site.resource.create])
    lines = [one.strip() for one in told.splitlines() if one.strip()]
    address = site.filled(site.resource.url) or (lines[-1] if lines else "")
    return site.record(address)


def users(_: ResourceSite) -> int:
    """Only the command that drops it could know."""
    return 0


def drop(site: ResourceSite) -> None:
    """Run the command that drops it."""
    site.output([site.filled(one) for one in site.resource.drop])
