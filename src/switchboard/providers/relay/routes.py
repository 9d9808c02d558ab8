"""Which child a client means."""

from collections.abc import Awaitable, Callable, Sequence

from switchboard.children.listings.listing import Kind
from switchboard.core.faults import Fault, FaultCode
from switchboard.providers.relay.addresses import matches, prefixed, split
from switchboard.providers.relay.offering import Offering
from switchboard.providers.relay.shelf import Place, Shelf


class Routes:
    """The way from what a client names to the child that has it."""

    def __init__(
        self,
        offerings: Sequence[Offering],
        shelf: Callable[[Kind], Awaitable[Shelf]],
        has_resources: Callable[[Offering], bool],
    ) -> None:
        self._offerings = [each for each in offerings if each.relays]
        self._shelf = shelf
        self._has_resources = has_resources

    async def prompt(self, name: str) -> Place:
        """Where a prompt is. Raises a fault."""
        places = (await self._shelf("prompts")).places
        if name in places:
            return places[name]
        choices = [shown for shown, place in places.items() if place.own == name]
        if choices:
            raise _ambiguous("prompt", name, choices)
        raise Fault(FaultCode.NOT_FOUND, "unknown-prompt", f"no prompt `{name}`")

    async def template(self, uri: str) -> Place:
        """Where a template is, by the very text that was listed; a plain URI does too."""
        place = (await self._shelf("templates")).places.get(uri)
        return place if place is not None else await self.resource(uri)

    async def resource(self, uri: str) -> Place:
        """Where a resource is. Raises a fault."""
        named = split(uri)
        if named is not None:
            # It names its child, and reaches that one alone.
            child, own = named
            for offering in self._offerings:
                if offering.name == child:
                    return Place(offering, own)
        listed = (await self._shelf("resources")).places
        if uri in listed:
            return listed[uri]
        # Those that all list it, each shown under another URI.
        matching = {
            each.offering.name: each.offering for each in listed.values() if each.own == uri
        }
        if not matching:
            matching = {
                place.offering.name: place.offering
                for place in (await self._shelf("templates")).places.values()
                if matches(place.own, uri)
            }
        if not matching:
            # A child may have more than it lists: when there is only one, it is asked.
            able = [each for each in self._offerings if self._has_resources(each)]
            matching = {each.name: each for each in able} if len(able) == 1 else {}
        if len(matching) == 1:
            return Place(next(iter(matching.values())), uri)
        if matching:
            raise _ambiguous("resource", uri, [prefixed(name, uri) for name in matching])
        raise Fault(
            FaultCode.NOT_FOUND, "unknown-resource", f"no resource `{uri}`", details={"uri": uri}
        )


def _ambiguous(what: str, name: str, choices: Sequence[str]) -> Fault:
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        f"{what}-ambiguous",
        f"more than one server may have `{name}`",
        hint=f"name the server: {', '.join(choices)}",
    )
