"""What was made for a branch besides its services: noted before it is used, dropped after it."""

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from switchkit.files import make_private_folder
from switchyard.core.slugs import digest, slug
from switchyard.files import read_json, write_json
from switchyard.project.home import ProjectPlaces


class ResourceRecord(NamedTuple):
    """One thing that was made: by what name its server knows it, and how services reach it."""

    resource: str
    branch_slug: str
    kind: str
    env: str
    name: str
    address: str
    server: str = ""
    extra: Mapping[str, str] = MappingProxyType({})
    """Further variables that services get."""

    def variables(self) -> dict[str, str]:
        """What services are given."""
        return {self.env: self.address, **self.extra}


def mark_of(places: ProjectPlaces, branch_slug: str, resource: str) -> str:
    """What is written into everything that is made, and asked for before anything is dropped."""
    return f"switchyard:{digest(str(places.folder), 16)}:{branch_slug}:{slug(resource)}"


def _folder(places: ProjectPlaces, branch_slug: str) -> Path:
    return places.folder / "resources" / branch_slug


def put_record(places: ProjectPlaces, record: ResourceRecord) -> None:
    """Note it. It may hold a password, so it is for its user alone."""
    folder = _folder(places, record.branch_slug)
    make_private_folder(folder.parent)
    make_private_folder(folder)
    write_json(
        folder / f"{slug(record.resource)}.json",
        {**record._asdict(), "extra": dict(record.extra)},
        durable=True,
    )


def drop_record(places: ProjectPlaces, record: ResourceRecord) -> None:
    """Forget it."""
    path = _folder(places, record.branch_slug) / f"{slug(record.resource)}.json"
    path.unlink(missing_ok=True)


def resource_records(places: ProjectPlaces, branch_slug: str | None = None) -> list[ResourceRecord]:
    """What was made for a branch, or for all."""
    top = places.folder / "resources"
    try:
        slugs = [branch_slug] if branch_slug else sorted(os.listdir(top))
    except FileNotFoundError:
        return []
    made: list[ResourceRecord] = []
    for one in slugs:
        for path in sorted(_folder(places, one).glob("*.json")):
            found = _read(path)
            if found:
                made.append(found)
    return made


def _read(path: Path) -> ResourceRecord | None:
    value: dict[str, Any] | None = None
    with contextlib.suppress(ValueError, OSError):
        value = read_json(path)
    names = ResourceRecord._fields[:-1]
    if value is None or not all(isinstance(value.get(one), str) for one in names):
        return None
    given: Any = value.get("extra")
    extra = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    texts = {key: str(one) for key, one in extra.items()}
    return ResourceRecord(**{one: value[one] for one in names}, extra=texts)


def shown_address(address: str) -> str:
    """An address without its password."""
    return re.sub(r"(?<=://)([^:/@\s]*+):[^@/\s]++(?=@)", r"\1:[redacted]", address)
