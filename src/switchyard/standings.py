"""What is true of everything that was started. Reads only; every call asks anew."""

from collections.abc import Iterable
from typing import Any

from switchyard.recover import all_runs
from switchyard.scope import Scope
from switchyard.truth import Standing, Truth
from switchyard.whereabouts import OWNERS, view


def standings(
    scope: Scope, branch: str | None = None, services: Iterable[str] = ()
) -> list[Standing]:
    """What is true of every recorded run, of one branch or of all."""
    names = set(services)
    truth = Truth(OWNERS)
    if len(OWNERS) > 4096:  # noqa: PLR2004 - a cache, bounded
        OWNERS.clear()
    return [
        truth.judge(run)
        for run in all_runs(scope.root, scope.places)
        if (branch is None or run.branch in (branch, "*")) and (not names or run.service in names)
    ]


def status(scope: Scope, branch: str | None = None, services: Iterable[str] = ()) -> dict[str, Any]:
    """Registered services with running or stale state."""
    supervised = scope.places.is_supervised()
    found = standings(scope, branch, services)
    return {"services": [view(one, supervised=supervised) for one in found]}
