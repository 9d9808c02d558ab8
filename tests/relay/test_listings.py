"""Who waits for listings, and for how many."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from msgspec import Raw

from switchboard.children.listings.collector import recall
from switchboard.children.listings.listing import Listing, ToolEntry, ToolListing
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.server_launches import ServerLaunches
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.bus import EventBus
from switchboard.core.catalog.catalog import Catalog
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.sessions import Session
from switchboard.directory.directory import OfferDirectory
from switchboard.providers.direct.exposure import DirectExposure
from switchboard.providers.direct.provider import DirectProvider


class Lister:
    """A child whose listing is told to somebody else first."""

    limits = ChildLimits()
    accounts = None
    trees = None
    is_running = False

    def __init__(self, tool: str, when_asked: Callable[[], Any]) -> None:
        entry = Raw(b'{"name":"%b"}' % tool.encode())
        self._tools = ToolListing(entries={tool: entry}, tools={tool: ToolEntry(name=tool)})
        self.is_known = False
        self.looked_up: set[str] = set()
        self._when_asked = when_asked

    def of(self, _: Session) -> "Lister":
        return self

    shown_to = of

    @property
    def listings(self) -> "Lister":
        return self

    def known(self, _: str) -> Listing | None:
        return self._tools if self.is_known else None

    shown = known

    async def remembered(self, kind: str) -> None:
        del kind

    async def listing(self, *_: object) -> Listing:
        await self._when_asked()
        return self._tools


def exposure(name: str, lister: Lister) -> DirectExposure:
    return DirectExposure(
        name=name,
        children=cast("ChildSource", lister),
        launches=cast("ServerLaunches", None),
        shows_tools=True,
    )


async def test_a_tool_that_another_caller_was_told_of_first_is_found() -> None:
    async def others_hear_of_it() -> None:
        late.is_known = True

    late = Lister("wanted", asyncio.Event().wait)
    quick = Lister("other", others_hear_of_it)
    provider = DirectProvider(
        [exposure("quick", quick), exposure("late", late)],
        announce=lambda _kind, _session: None,
    )
    directory = OfferDirectory(
        {provider.key: provider},
        Catalog(()),
        {provider.key: ("tools",)},
        events=EventBus(),
        visibility=Visibility(),
        is_reserved=lambda _name, _provider: False,
    )
    found = await directory.tool("wanted", Session(id="s", via="test", workspace="/"), None)
    await provider.aclose()
    assert found is not None
    assert found.name == "wanted"


class NeverListed(Lister):
    """A child that does not run, and of which nothing is remembered."""

    def __init__(self) -> None:
        super().__init__("none", asyncio.Event().wait)
        self.looks = 0

    async def remembered(self, kind: str) -> None:
        self.looks += 1
        self.looked_up.add(kind)


async def test_what_was_never_listed_is_looked_for_once() -> None:
    """Every call of a tool comes by, and each look is one at the disk."""
    never = NeverListed()
    holder = exposure("never", never)
    for _ in range(3):
        await recall("tools", (holder,), Session(id="s", via="test", workspace="/"))
    assert never.looks == 1
