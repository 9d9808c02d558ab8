"""The commonest question, with the least work: where a service that was started is now."""

import importlib
from typing import Any

from switchyard.proc.family import Leader
from switchyard.runs import Run, RunBook
from switchyard.scope import SHARED_SLUG, Scope, Target
from switchyard.slugs import slug
from switchyard.truth import Standing, Truth

OWNERS: dict[tuple[str, int], Leader] = {}


def view(standing: Standing, *, supervised: bool) -> dict[str, Any]:
    """One service as shown. A name is only given as URL while somebody serves it."""
    shown = standing.as_json()
    if not supervised and standing.run.protocol == "http":
        shown["url"] = shown["direct_url"]
    shown["supervised"] = supervised
    return shown


def whereabouts(
    scope: Scope, service: str, target: Target, *, anywhere: bool
) -> dict[str, Any] | None:
    """What is true of the service of this branch, or nothing when it was never started."""
    places = scope.places
    book = RunBook(places)
    run = book.get(target.slug, service) or book.get(SHARED_SLUG, service)
    if run is None:
        recover = importlib.import_module("switchyard.recover")
        lost: list[Run] = recover.all_runs(scope.root, places, target.slug)
        run = next((one for one in lost if one.service == service), None)
    if run is None and anywhere:
        others = [one for one in book.all() if one.service in (service, slug(service))]
        run = others[0] if len(others) == 1 else None
    if run is None:
        return None
    return view(Truth(OWNERS).judge(run), supervised=places.is_supervised())
