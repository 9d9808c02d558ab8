"""Everything that a session may use, whichever provider has it, and the way back to who has it.

Tools that are known before anything runs are in the catalog. The directory adds what providers list
when they run, under names that tell everything apart.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from msgspec import Raw
from msgspec.structs import replace

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.contents import METHODS, read_request
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.catalog import Catalog
from switchboard.core.catalog.names import fold
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import Effects, Policy, ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.channels.channel import Channel
from switchboard.core.events import NamesClashed
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.ports import ContentProvider, Events, Provider
from switchboard.core.sessions import Session
from switchboard.directory.merge import IsReserved, MergedOffers, merge_contents, merge_tools
from switchboard.directory.resolver import Resolver

Offers = tuple[Offer, ...]


class OfferDirectory:
    """Merges what the providers of one board offer. On the road it runs requests for contents."""

    key = "directory"

    def __init__(
        self,
        providers: Mapping[str, Provider],
        catalog: Catalog,
        # The providers that list more when they run, and what kinds of things.
        listing: Mapping[str, Iterable[str]],
        *,
        events: Events,
        visibility: Visibility,
        is_reserved: IsReserved,
    ) -> None:
        self._providers = providers
        self._listing: dict[str, list[Provider]] = {}
        for key, kinds in listing.items():
            for kind in kinds:
                self._listing.setdefault(kind, []).append(providers[key])
        self._catalog = tuple(
            Offer(name=spec.name, provider=spec.provider, spec=spec)
            for spec in catalog.tools.values()
        )
        self._listed = {fold(name) for name in catalog.tools}
        self._events = events
        self._visibility = visibility
        self._is_reserved = is_reserved
        self._contents = [each for each in providers.values() if isinstance(each, ContentProvider)]
        self._specs = _specs_for(each.content_policy for each in self._contents)
        # A listing from memory costs only its answer.
        self._kept: IdentityCache[MergedOffers] = IdentityCache()
        self._told: set[str] = set()

    # What there is

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        """Everything of a kind that the session may use. Asks those who have to be asked."""
        merged = tuple((await self._merged(kind, session, channel, wanted)).values())
        return (*self._catalog, *merged) if kind == "tools" else merged

    async def entries(self, kind: Kind, session: Session, channel: Channel | None) -> Sequence[Raw]:
        """What the providers list of a kind beside the catalog, as a client is told."""
        offers = (await self._merged(kind, session, channel)).values()
        return [offer.entry for offer in offers if offer.entry is not None]

    def awaits(self, kind: Kind) -> bool:
        """Whether a server is still to list this."""
        return any(each.awaits(kind) for each in self._contents)

    async def tool(self, name: str, session: Session, channel: Channel | None) -> ToolSpec | None:
        """A tool that is not in the catalog. Nobody is waited for if it is known already."""
        offer = (await self._merged("tools", session, channel, name)).get(name)
        return None if offer is None else offer.spec

    async def _merged(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> dict[str, Offer]:
        asked = self._listing.get(kind, [])
        found: list[Offers]
        if len(asked) == 1:
            found = [await asked[0].offers(kind, session, channel, wanted)]
        else:
            found = await asyncio.gather(
                *(each.offers(kind, session, channel, wanted) for each in asked)
            )
        return self._kept.get(
            found, lambda: self._merge(kind, [*chain.from_iterable(found)]), kind=kind
        ).offers

    def _merge(self, kind: Kind, offers: Sequence[Offer]) -> MergedOffers:
        if kind == "subtools":
            # Those of a suite that is not shown do not exist either. Two suites may each have a
            # subtool of one name.
            named = ((each.via.name, each) for each in offers if each.via is not None)
            return MergedOffers(
                {
                    f"{suite}/{each.name}": each
                    for suite, each in named
                    if fold(suite) in self._listed
                }
            )
        if kind != "tools":
            return merge_contents(kind, offers)
        merged = merge_tools(offers, self._visibility, self._listed.__contains__, self._is_reserved)
        for clash in merged.clashes:
            if clash not in self._told:
                self._told.add(clash)
                self._events.emit(NamesClashed(message=clash))
        return merged

    # Prompts and resources

    def spec(self, method: str) -> ToolSpec | None:
        """What a request of this method is on the road; nothing if it is none of ours."""
        return self._specs.get(method)

    async def follow(
        self, uri: str, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        """Have the client told when a resource changes, or a part of it, and by which URI.

        What is returned ends it.
        """
        offer = await self._resolver(session, None).resource(uri)
        # A part has the name of the whole, as the client knows it, and then its own.
        return await self._of(offer).follow(
            offer, session, lambda updated: tell(uri + updated.removeprefix(offer.own))
        )

    def pass_on(self, method: str, session: Session) -> None:
        """Tell those who serve this session what their client said."""
        for provider in self._contents:
            provider.pass_on(method, session)

    def _resolver(self, session: Session, channel: Channel | None) -> Resolver:
        return Resolver(
            self._contents,
            session,
            lambda kind, wanted: self._merged(kind, session, channel, wanted),
            lambda kind, name: self._ours(kind, name, session, channel),
        )

    async def _ours(
        self, kind: Kind, name: str, session: Session, channel: Channel | None
    ) -> Offer | None:
        """What a provider without servers has: it keeps its name, so no server is waited for."""
        for provider in self._listing.get(kind, ()):
            if isinstance(provider, ContentProvider) and not provider.owners:
                for offer in await provider.offers(kind, session, channel, name):
                    if offer.name == name:
                        return replace(offer, own=name)
        return None

    def _of(self, offer: Offer) -> ContentProvider:
        return next(each for each in self._contents if each.key == offer.provider)

    # The port of the road

    def specs(self) -> Sequence[ToolSpec]:
        return tuple(self._specs.values())

    async def narrow(self, call: Call) -> Call:
        return call

    async def launch(self, call: Call) -> Launch | None:
        """Nothing: what a client reads runs no tool."""
        del call

    async def invoke(self, call: Call) -> Outcome:
        request = read_request(call.tool.name, call.arguments)
        offer = await self._resolver(call.session, call.channel).find(request)
        return await self._of(offer).fetch(call, offer, request)

    async def aclose(self) -> None:
        """The board closes its providers."""


def _specs_for(policies: Iterable[Policy]) -> dict[str, ToolSpec]:
    """What passes the gates, by method. Who is meant shows later: the slowest may be."""
    known = tuple(policies)
    policy = Policy(
        timeout_s=max((each.timeout_s for each in known if each.timeout_s), default=None),
        longest_s=max((each.longest_s for each in known if each.longest_s), default=None),
    )
    return {
        method: ToolSpec(
            name=method,
            provider=OfferDirectory.key,
            effects=Effects(read_only=True, destructive=False),
            policy=policy,
            check=_unchecked,
            is_tool=False,
        )
        for method in METHODS
    }


def _unchecked(raw: Raw) -> None:
    """Nothing: a request is checked when it is read."""
    del raw
