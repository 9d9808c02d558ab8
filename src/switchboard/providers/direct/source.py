"""The plug of direct exposure: what servers offer, under their own names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.children.listings.kept_words import ServerWords, kept_words
from switchboard.core.offers import CONTENTS
from switchboard.core.visibility import Visibility
from switchboard.providers.direct.manuals import MOST_LETTERS, manuals
from switchboard.providers.source import Listed, ListingContext, Source

if TYPE_CHECKING:
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
        words = lambda: manuals(showing, listing.environ, kept.known())  # noqa: E731 - it is called at each greeting
        return Listed(offers=kinds | {"tools"}, words=words)

    def build(self, context: Context) -> Provider:
        # It takes what talks to children, and a listing of suites does not.
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
                relays=entry.relay,
            )

        named = {entry.name: entry for entry in context.servers if not entry.accounts}
        kept = kept_words(context.settings.home)

        def learn(name: str, instructions: str) -> None:
            entry, environ = named.get(name), context.environ
            # Nothing is worth keeping only where something was kept.
            if entry and (instructions or kept.known().of(entry, environ)):
                kept.keep(entry, environ, ServerWords(instructions=instructions[:MOST_LETTERS]))

        return DirectProvider(
            map(exposure, context.servers),
            announce=context.announce,
            learn=learn,
            is_guarded=context.settings.is_guarded,
            held=context.held,
            visibility=context.visibility,
        )


SOURCE = DirectSource()
