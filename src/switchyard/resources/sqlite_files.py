"""A SQLite file of each branch, copied from one of the project. Its place is the mark."""

import os
from pathlib import Path

from switchkit.files import make_folder
from switchkit.platform.facts import has_open
from switchkit.platform.files import clone_file
from switchkit.platform.processes import pids
from switchyard.core.fault import YardFault
from switchyard.resources.site import ResourceSite
from switchyard.runtime.resource_records import ResourceRecord

_CHUNK = 1 << 20


def _file(site: ResourceSite) -> Path:
    return site.data / f"{site.data.name}.sqlite"


def found_mark(site: ResourceSite) -> str | None:
    """Nobody but us puts files there."""
    return site.mark if _file(site).is_file() else None


def make(site: ResourceSite) -> ResourceRecord:
    """Copy the file, as a clone where the file system can."""
    path = _file(site)
    make_folder(path.parent)
    source = site.source("file")
    if source:
        _copy(site, site.config.root / source, path)
    else:
        path.touch(mode=0o600)
    return site.record(f"sqlite:///{path}")


def _copy(site: ResourceSite, source: Path, path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        if not clone_file(str(source), str(part), 0o600):
            with source.open("rb") as reading, part.open("xb") as writing:
                while chunk := reading.read(_CHUNK):
                    writing.write(chunk)
    except OSError as wrong:
        part.unlink(missing_ok=True)
        told = f"`{site.resource.name}`: {wrong.strerror}: {wrong.filename or source}"
        raise YardFault("resource-failed", told) from None
    part.chmod(0o600)
    part.replace(path)


def users(site: ResourceSite) -> int:
    """How many processes have it open."""
    path = _file(site)
    try:
        wanted = path.stat()
    except OSError:
        return 0
    return sum(has_open(pid, wanted) for pid in pids() if pid != os.getpid())


def drop(site: ResourceSite) -> None:
    """Remove it, with what SQLite keeps beside it."""
    for end in ("", "-wal", "-shm", "-journal"):
        path = _file(site)
        path.with_name(path.name + end).unlink(missing_ok=True)
