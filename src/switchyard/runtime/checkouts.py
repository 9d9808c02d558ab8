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


class CheckoutList(NamedTuple):
    """The recorded checkouts, and which process listens for them."""

    checkouts: tuple[Checkout, ...] = ()
    pid: int = 0
    ticks: int = 0

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        rows = [one._asdict() for one in self.checkouts]
        return {"checkouts": rows, "pid": self.pid, "ticks": self.ticks}


def checkout_list(places: ProjectPlaces) -> CheckoutList:
    """What is recorded. Reads only."""
    with contextlib.suppress(ValueError, TypeError, KeyError, OSError):
        raw: dict[str, Any] = read_json(places.checkouts) or {}
        found = tuple(Checkout(**one) for one in raw.get("checkouts", []))
        if any(type(one.port) is not int for one in found):
            raise ValueError("a port is a number")
        return CheckoutList(found, int(raw.get("pid", 0)), int(raw.get("ticks", 0)))
    return CheckoutList()


def stored_checkouts(places: ProjectPlaces) -> list[Checkout]:
    """The recorded checkouts. Reads only."""
    return list(checkout_list(places).checkouts)
