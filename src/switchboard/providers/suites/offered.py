"""What suites offer: each subtool with the suite that it is called through."""

from collections.abc import Collection, Iterable, Iterator

from switchboard.children.listings.listing import ToolListing
from switchboard.core.catalog.offers import Offer, Withheld
from switchboard.providers.suites.specs import PROVIDER
from switchboard.providers.suites.suite import Suite


def own_offers(suites: Iterable[Suite]) -> Iterator[Offer]:
    """The subtools that are ours."""
    for suite in suites:
        for spec in suite.own_tools:
            yield Offer(
                name=spec.name,
                provider=PROVIDER,
                owner=suite.spec.name,
                spec=spec,
                via=suite.spec,
            )


def subtool_offers(
    found: Iterable[tuple[Suite, ToolListing]], held: Iterable[Collection[str]]
) -> Iterator[Offer]:
    """The subtools that servers list, also those that nobody is told of."""
    for (suite, listing), names in zip(found, held, strict=True):
        changed = frozenset(names)
        for name in listing.tools:
            if not suite.is_natural(name, listing):
                yield Offer(
                    name=name,
                    provider=PROVIDER,
                    owner=suite.spec.name,
                    spec=suite.known(name, listing),
                    via=suite.spec,
                    withheld=_withheld(suite, name, changed),
                )


def _withheld(suite: Suite, name: str, changed: Collection[str]) -> Withheld:
    if not suite.shows(name):
        return "denied"
    return "changed" if name in changed else ""
