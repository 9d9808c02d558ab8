"""Which canonical port points to which branch, as recorded. Knows no sockets."""

import contextlib
from typing import Any, NamedTuple

from switchyard.files import read_json
from switchyard.project.home import ProjectPlaces


class Checkout(NamedTuple):
    """One canonical port and its target."""

    port: int
    service: str
    branch: str
    branch_slug: str
    host: str
    target_port: int


def stored_checkouts(places: ProjectPlaces) -> list[Checkout]:
    """The recorded checkouts. Reads only."""
    with contextlib.suppress(ValueError, TypeError, KeyError, OSError):
        raw: dict[str, Any] = read_json(places.checkouts) or {}
        return [Checkout(**one) for one in raw.get("checkouts", [])]
    return []
