"""Containers of each branch: the project's own compose file, under a project name of the branch."""

from pathlib import Path

from switchkit.files import make_private_folder, replace_file
from switchyard.core.fault import YardFault
from switchyard.resources.site import ResourceSite
from switchyard.runtime.resource_records import ResourceRecord

_LABEL = "dev.switchyard.mark"


def _project(site: ResourceSite) -> str:
    return site.name.replace("_", "-")


def _override(site: ResourceSite) -> Path:
    """A second file: it marks the containers, and has their port chosen by the system."""
    service, port = site.resource.publish.split(":")
    text = (
        f"services:\n  {service}:\n    labels:\n      {_LABEL}: {site.mark}\n"
        f'    ports: !override\n      - "127.0.0.1::{port}"\n'
    )
    make_private_folder(site.data)
    path = site.data / "override.yaml"
    replace_file(path, text.encode())
    return path


def _compose(site: ResourceSite, *words: str) -> str:
    file = str(site.config.root / site.resource.file)
    files = ["-f", file, "-f", str(_override(site))]
    return site.output(["docker", "compose", "-p", _project(site), *files, *words])


def found_mark(site: ResourceSite) -> str | None:
    """The mark on its container; `-` when a project of that name has none."""
    project = f"label=com.docker.compose.project={_project(site)}"
    form = f'{{{{.Label "{_LABEL}"}}}}'
    told = site.output(["docker", "ps", "-a", "--filter", project, "--format", form])
    marks = [one.strip() for one in told.splitlines()]
    if not marks:
        return None
    return site.mark if site.mark in marks else "-"


def make(site: ResourceSite) -> ResourceRecord:
    """Start the containers, and learn the port."""
    _compose(site, "up", "-d", "--wait")
    service, port = site.resource.publish.split(":")
    told = _compose(site, "port", service, port).strip().splitlines()[-1:]
    host, _, number = (told[0] if told else "").rpartition(":")
    if not number.isdigit():
        raise YardFault("resource-failed", f"`{site.resource.name}`: {service} publishes no {port}")
    host = "127.0.0.1" if host in ("0.0.0.0", "") else host  # noqa: S104 - read, not bound
    return site.record(site.filled(site.resource.url, host=host, port=number))


def users(_: ResourceSite) -> int:
    """What is in a container is not known here."""
    return 0


def drop(site: ResourceSite) -> None:
    """Remove the containers and their volumes."""
    _compose(site, "down", "--volumes")
