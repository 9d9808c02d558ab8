"""The plug of direct exposure: what servers offer, under their own names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.children.listings.kept_words import ServerWords, kept_words
from switchboard.core.catalog.offers import CONTENTS
from switchboard.core.catalog.visibility import Visibility
from switchboard.providers.direct.manuals import MOST_LETTERS, manuals
from switchboard.providers.source import Listed, ListingContext, Source

if TYPE_CHECKING:
    from switchboard.children.listings.listing import ToolListing
    from switchboard.children.schema import ServerEntry
    from switchboard.core.ports import Provider
    from switchboard.providers.context import Context


class DirectSource(Source[Struct]):
    """Direct exposure as the rest of the program sees it."""

    key = "direct"

    def specs(self, listing: ListingContext) -> Listed:
        """No tool is known before its server runs."""
        kinds = CONTENTS if listing.servers else frozenset[str]()
        showing = tuple(entry for entry in listing.servers if entry.expose == "tools")
        if not showing:
            return Listed(offers=kinds)
        kept = kept_words(listing.settings.home)

        def words(taken: int) -> str:
            return manuals(showing, listing.environ, kept.known(), taken)

        return Listed(offers=kinds | {"tools"}, words=words)

    def build(self, context: Context) -> Provider:
        # It takes what talks to children, and a listing of suites does not.
        from switchboard.children.listings.host_rules import refused_tools  # noqa: PLC0415
        from switchboard.children.server_launches import ServerLaunches  # noqa: PLC0415
        from switchboard.providers.direct.exposure import DirectExposure  # noqa: PLC0415
        from switchboard.providers.direct.provider import DirectProvider  # noqa: PLC0415

        def exposure(entry: ServerEntry) -> DirectExposure:
            suite = context.settings.suites.get(entry.name)
            subtools = Visibility(suite.allow, suite.deny) if suite else Visibility()
            return DirectExposure(
                name=entry.name,
                children=context.children[entry.name],
                launches=ServerLaunches(entry, context.children[entry.name].cwd),
                origin=entry.origin,
                shows_tools=entry.expose == "tools",
                prefix=entry.tool_prefix,
                subtools=subtools,
                inline_tokens=context.settings.results.inlined(suite),
                relays=entry.relay,
            )

        named = {entry.name: entry for entry in context.servers if not entry.accounts}
        kept = kept_words(context.settings.home)

        def learn(name: str, instructions: str, listing: ToolListing | None) -> None:
            entry, environ = named.get(name), context.environ
            refused = refused_tools(listing) if listing is not None else {}
            # Nothing is worth keeping only where something was kept.
            if entry and (instructions or refused or kept.known().of(entry, environ)):
                words = ServerWords(instructions=instructions[:MOST_LETTERS], refused=refused)
                kept.keep(entry, environ, words)

        return DirectProvider(
            map(exposure, context.servers),
            announce=context.announce,
            learn=learn,
            is_guarded=context.settings.is_guarded,
            held=context.held,
            visibility=context.visibility,
        )


SOURCE = DirectSource()
